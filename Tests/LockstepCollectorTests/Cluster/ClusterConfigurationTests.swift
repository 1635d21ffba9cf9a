import LockstepMQTT
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Configuration of a cluster")
struct ClusterConfigurationTests {
    @Test("the connections of different shares, clusters and roots have different client ids")
    func clientIDs() throws {
        var ids: [String] = []
        for root in ["a", "a/b"] {
            for cluster in ["b", "b-c", "c"] {
                let configuration = try configuration(cluster, root: root, shares: ["c", "c-d", "d:2", "e"])
                for share in configuration.shares {
                    let own = configuration.configuration(of: share)
                    ids += [own.share?.clientID, own.share?.clockClientID].compactMap(\.self)
                }
                ids.append(configuration.memberClientID)
            }
        }
        #expect(ids.count == 2 * 3 * 11)
        #expect(Set(ids).count == ids.count)
    }

    @Test("the time requests of a group are answered by one share")
    func clock() throws {
        let configuration = try configuration("one", root: "lockstep", shares: ["lab", "west:3"])
        let answering = configuration.shares.filter { configuration.configuration(of: $0).answersClock }
        #expect(answering.map(\.description) == ["lab", "west:0-3"])
    }

    @Test("a member is recognised by its topic, and no other topic of the cluster is one of a member")
    func members() throws {
        let configuration = try configuration("one", root: "a/b", shares: ["lab"])
        #expect(configuration.memberTopic("c-1") == "a/b-collectors/one/member/c-1")
        #expect(configuration.member(of: "a/b-collectors/one/member/c-1")?.rawValue == "c-1")
        for topic in ["a/b-collectors/two/member/c", "a/b-collectors/one/member/", "a/b-collectors/one/member/c/d"] {
            #expect(configuration.member(of: topic) == nil, "\(topic)")
        }
    }

    private func configuration(_ cluster: String, root: String, shares: [String]) throws -> ClusterConfiguration {
        var collector = CollectorConfiguration(
            id: CollectorID(unchecked: "c"), broker: try BrokerAddress("mqtt://localhost"))
        collector.root = try TopicRoot(root)
        return ClusterConfiguration(
            cluster: try GroupID(validating: cluster), shares: try shares.flatMap { try CollectorShare.shares($0) },
            collector: collector, leaseServer: NATSOptions(servers: try NATSServers("nats://localhost"), name: "test"))
    }
}
