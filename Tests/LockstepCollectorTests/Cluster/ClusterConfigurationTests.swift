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
                    ids += [own.clientID, own.clockClientID].compactMap(\.self)
                }
                ids.append(configuration.memberClientID)
                ids += configuration.shares.map { configuration.clientID("lease", of: $0) }
            }
        }
        #expect(ids.count == 2 * 3 * 16)
        #expect(Set(ids).count == ids.count)
    }

    @Test("the time requests of a group are answered by one share")
    func clock() throws {
        let configuration = try configuration("one", root: "lockstep", shares: ["lab", "west:3"])
        let answering = configuration.shares.filter { configuration.configuration(of: $0).answersClock }
        #expect(answering.map(\.description) == ["lab", "west:0-3"])
    }

    private func configuration(_ cluster: String, root: String, shares: [String]) throws -> ClusterConfiguration {
        var collector = CollectorConfiguration(
            id: CollectorID(unchecked: "c"), broker: try BrokerAddress("mqtt://localhost"))
        collector.root = try TopicRoot(root)
        return ClusterConfiguration(
            cluster: try GroupID(validating: cluster), shares: try shares.flatMap { try CollectorShare.shares($0) },
            collector: collector)
    }
}
