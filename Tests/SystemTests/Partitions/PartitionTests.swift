import Foundation
import LockstepTestSupport
import Testing

/// Drops the packets between two parts of a cluster, for longer than leases last, and lets them pass again.
///
/// By default, only a collector and an agent are separated from brokers. With the environment variable
/// `LOCKSTEP_PARTITIONS=all`, all partitions of the list below are tested, and with a part of the names of partitions, such
/// as `of the broker`, only these.
@Suite(
    "Network partitions of a cluster", .serialized,
    .enabled(
        if: Programs.isInstalled("nats-server") && TestReplicas.areInstalled && Programs.isInstalled("mosquitto_sub")
            && Programs.isInstalled("curl"), "nats-server, clickhouse-server or ZooKeeper is not installed"),
    .enabled("network namespaces cannot be created: root is needed") { await TestNetwork.isAvailable() })
struct PartitionTests {
    private static let selected = ProcessInfo.processInfo.environment["LOCKSTEP_PARTITIONS"]
    private static let all = Set(SeparateHosts.collectors)

    @Test(
        "nothing is lost or stored twice, and each state is published once, though the network is partitioned",
        .timeLimit(.minutes(30)))
    func partitions() async throws {
        let partitions = Partition.all.filter { $0.isSelected(by: Self.selected) }
        try #require(
            !partitions.isEmpty, "LOCKSTEP_PARTITIONS is neither all nor a part of \(Partition.all.map(\.name))")
        // In memory: ClickHouse leaves so many small files that a disk takes minutes to remove them.
        try await withDiskInMemory { folder in
            try await withTestNetwork(SeparateHosts.all, in: folder) { network in
                var hosts = try await SeparateHosts(network, in: folder)
                try await step("start") {
                    try await hosts.expectOwned(by: Self.all)
                    try hosts.startAgents()
                    try await hosts.data.expectProgress("start", hosts.running)
                }
                for partition in partitions { try await check(partition, network, hosts) }
                try await step("drained") { try await hosts.drain() }
                try await step("replicated") { try await hosts.expectReplicated() }
                try await step("verified") { try await hosts.expectComplete() }
            }
        }
    }

    private func withDiskInMemory(_ body: (_ folder: String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await SmallDisk.with(at: folder + "/disk", kilobytes: 4_194_304) { try await body(folder + "/disk") }
        }
    }

    private func check(_ partition: Partition, _ network: TestNetwork, _ hosts: SeparateHosts) async throws {
        try await step("separated \(partition.name)") {
            let earlier = partition.loser.map { hosts.log(of: $0).utf8.count } ?? 0
            for (host, others, segments) in partition.cuts { try await network.cut(host, from: others, in: segments) }
            switch partition.effect {
            case .takeover(let collector):
                let others = Self.all.subtracting([collector])
                try await step("  taken over by the others") { try await hosts.expectTakenOver(by: others) }
                try await hosts.expectOwned(by: others)
                partition.expectCause(hosts.log(of: collector), since: earlier)
            case .none, .pause:
                // Not waiting for an event: the partition outlasts the leases, the keep-alive and the session of the keeper.
                try await Task.sleep(for: .seconds(25))
            }
            if partition.effect != .pause {
                try await hosts.data.expectProgress(
                    "\(partition.name) separated", hosts.running, except: partition.silent)
            }
        }
        for (host, others, segments) in partition.cuts { try await network.join(host, to: others, in: segments) }
        try await step("  joined") {
            try await hosts.expectOwned(by: Self.all)
            try await hosts.data.expectProgress("\(partition.name) joined", hosts.running)
        }
    }

    private func step(_ name: String, _ body: () async throws -> Void) async throws {
        let start = ContinuousClock.now
        try await body()
        print(
            "\(name): \((ContinuousClock.now - start).formatted(.units(allowed: [.seconds], fractionalPart: .show(length: 1))))"
        )
    }
}

/// Parts of a cluster that are separated from each other.
private struct Partition {
    enum Effect: Equatable {
        /// The other collectors take over from this one.
        case takeover(from: String)
        /// It may be that nothing can be stored until the parts are joined.
        case pause
        case none
    }

    /// What is expected in place of a time, which depends on the machine.
    enum Cause {
        case any
        /// The system reported the end of the connection, before the keep-alive did.
        case connection
        /// The failure of a commit was reason enough to leave the shares, without an attempt to open the store again.
        case commit
    }

    let name: String
    let cuts: [(host: String, others: [String], segments: [TestNetwork.Segment])]
    let effect: Effect
    /// The devices whose samples wait until the parts are joined.
    var silent: Set<String> = []
    /// How the collector that loses its shares must have noticed it.
    var cause = Cause.any
    /// Whether it is part of the short test.
    var isShort = false

    /// The collector that loses its shares.
    var loser: String? {
        if case .takeover(let collector) = effect { collector } else { nil }
    }

    /// - Parameters:
    ///   - log: what the collector has logged.
    ///   - earlier: the number of bytes that it had logged before the cut.
    func expectCause(_ log: String, since earlier: Int) {
        let lines = String(decoding: log.utf8.dropFirst(earlier), as: UTF8.self).split(separator: "\n")
        switch cause {
        case .any: break
        case .connection:
            #expect(!lines.contains { $0.contains("share=") && $0.contains("the broker stopped responding") }, "\(log)")
        case .commit:
            let end = lines.lastIndex { $0.contains("leaving the shares to the other collectors") } ?? 0
            let start = lines[..<end].lastIndex { $0.contains("share taken over") } ?? 0
            let lost = lines[start..<max(start, end)].firstIndex { $0.contains("share lost") }
            #expect(lost.map { !lines[$0..<end].contains { $0.contains("claiming share") } } == true, "\(log)")
        }
    }

    func isSelected(by text: String?) -> Bool { text.map { $0 == "all" || name.contains($0) } ?? isShort }

    static let all = [
        Partition(
            name: "collector a from brokers and lease servers, and an agent from brokers",
            cuts: [
                ("a", SeparateHosts.nodes, TestNetwork.Segment.allCases),
                ("far", SeparateHosts.nodes, TestNetwork.Segment.allCases),
            ], effect: .takeover(from: "a"), silent: ["west/dog"], isShort: true),
        Partition(
            name: "collector a from brokers", cuts: [("a", SeparateHosts.nodes, [.main])],
            effect: .takeover(from: "a"), cause: .connection),
        Partition(
            name: "collector b from lease servers", cuts: [("b", SeparateHosts.nodes, [.other])],
            effect: .takeover(from: "b")),
        Partition(
            name: "collector c from ClickHouse", cuts: [("c", SeparateHosts.replicas, [.main])],
            effect: .takeover(from: "c"), cause: .commit),
        Partition(
            name: "collector c from a replica", cuts: [("c", ["replica-0"], [.main])], effect: .none),
        Partition(
            name: "two replicas", cuts: [("replica-0", ["replica-1"], [.main])], effect: .pause),
        Partition(
            name: "a replica from the keeper", cuts: [("replica-1", ["keeper"], [.main])], effect: .pause),
        // NATS needs connections between all of its nodes: while two do not reach each other, it may stand still.
        Partition(
            name: "two nodes of the broker", cuts: [("nats-1", ["nats-2"], TestNetwork.Segment.allCases)],
            effect: .pause),
        Partition(
            name: "a node of the broker from the others",
            cuts: [("nats-2", ["nats-1", "nats-3"], TestNetwork.Segment.allCases)], effect: .none),
        Partition(
            name: "an agent from brokers", cuts: [("far", SeparateHosts.nodes, [.main])], effect: .none,
            silent: ["west/dog"]),
    ]
}
