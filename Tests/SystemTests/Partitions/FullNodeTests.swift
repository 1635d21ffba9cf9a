import Foundation
import LockstepTestSupport
import Testing

/// Fills the disk of a node of a NATS cluster. `deploy/check` runs this only with `--partitions`, because it takes three
/// minutes.
@Suite(
    "Full disk of a node of a NATS cluster", .serialized,
    .enabled(
        if: Programs.isInstalled("nats-server") && TestReplicas.areInstalled && Programs.isInstalled("mosquitto_sub")
            && Programs.isInstalled("curl"), "nats-server, clickhouse-server or ZooKeeper is not installed"),
    .enabled("network namespaces cannot be created: root is needed") { await TestNetwork.isAvailable() })
struct PartitionFullNodeTests {
    @Test(
        "the others go on when a node whose disk is full is stopped, and nothing is lost when it starts with free space",
        .timeLimit(.minutes(15)))
    func fullDisk() async throws {
        try await withTemporaryFolder { folder in
            let disk = folder + "/disk"
            try await SmallDisk.with(at: disk, kilobytes: 4_194_304) {
                let messages = SeparateHosts.messageFolder(of: Self.node, in: disk)
                try await SmallDisk.with(at: messages, kilobytes: 262_144) { try await check(in: disk) }
            }
        }
    }

    private static let node = "nats-1"

    private func check(in folder: String) async throws {
        try await withTestNetwork(SeparateHosts.all, in: folder) { network in
            var hosts = try await SeparateHosts(network, in: folder)
            try await hosts.expectOwned(by: Set(SeparateHosts.collectors))
            try hosts.startAgents()
            try await hosts.data.expectProgress("start", hosts.running)
            let node = Self.node
            let filler = SeparateHosts.messageFolder(of: node, in: folder) + "/filler"
            let earlier = hosts.log(of: node).utf8.count
            SmallDisk.fill(filler)
            try await step("full") { try await expectEffect(of: node, since: earlier, hosts) }
            try await step("full node stopped") {
                await hosts.stop(node)
                try await hosts.data.expectProgress("stopped", hosts.running, within: .seconds(180))
            }
            try FileManager.default.removeItem(atPath: filler)
            try await hosts.start(node)
            try await step("started with free space") { try await hosts.data.expectProgress("started", hosts.running) }
            try await hosts.expectOwned(by: Set(SeparateHosts.collectors))
            try await hosts.drain()
            try await hosts.expectReplicated()
            try await hosts.expectComplete()
        }
    }

    /// Waits until the full disk has an effect: the node logs it, or a device is not stored any more, because the node keeps
    /// the lead of streams.
    private func expectEffect(of node: String, since earlier: Int, _ hosts: SeparateHosts) async throws {
        let deadline = ContinuousClock.now + .seconds(180)
        var log = ""
        while ContinuousClock.now < deadline {
            let hasProgress = await hosts.data.hasProgress(within: .seconds(20))
            log = String(decoding: hosts.log(of: node).utf8.dropFirst(earlier), as: UTF8.self)
            if !hasProgress || ["no space left", "out of resources"].contains(where: log.lowercased().contains) {
                return
            }
        }
        Issue.record("the full disk has no effect: \(log)")
    }

    private func step(_ name: String, _ body: () async throws -> Void) async throws {
        let start = ContinuousClock.now
        try await body()
        print("\(name): \((ContinuousClock.now - start) / .seconds(1)) s")
    }
}
