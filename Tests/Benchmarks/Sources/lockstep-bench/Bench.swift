import ArgumentParser
import Foundation

@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-bench", abstract: "Measures all sides of a comparison in turn. Run by deploy/bench.")

    enum Name: String, CaseIterable, ExpressibleByArgument {
        /// The four that begin with it.
        case cluster
        case attitude, agent, codec, gateway, live, refine, scale, outage, latency, query, writes, merges, rules
        case serveLive = "serve-live"
        case outboxWrites = "outbox-writes"
        case servePoints = "serve-points"
        case wireSize = "wire-size"
        case ingestBatches = "ingest-batches"
        case ingestSmall = "ingest-small"
        case ingestReplay = "ingest-replay"
        case clusterIngest = "cluster-ingest"
        case clusterCollectors = "cluster-collectors"
        case clusterDevices = "cluster-devices"
        case clusterQuorum = "cluster-quorum"
    }

    @Argument(help: "Names of benchmarks (default: all).")
    var names: [Name] = []

    @Option(help: "A Python with the packages of the compared scripts.")
    var python: String

    @Option(help: "Folder of the recordings (shared/data).")
    var recordings: String

    @Option(help: "Folder of the compared scripts.")
    var scripts: String

    @Option(help: "Folder of the built programs.")
    var programs: String

    @Option(help: "Folder for large stores.")
    var cache: String

    @Option(name: .customLong("rows"), help: "Rows of the store for the query benchmarks.")
    var chosenRows: Int?

    @Flag(help: "Only check the names and options.")
    var check = false

    @Option(name: .customLong("rounds"), help: "Rounds per side (default: 5, or 1 with --quick).")
    var chosenRounds: Int?

    @Flag(help: "Measure one short round per side.")
    var quick = false

    @Option(
        name: .customLong("sync"),
        help: "Durability of commits on all sides that store: normal or full (default: full; 'writes' measures both).")
    var chosenSync: String?

    @OptionGroup var writes: WritesOptions

    @Flag(help: "Print one JSON object per comparison, on a line of its own.")
    var json = false

    private var rounds: Int { chosenRounds ?? (quick ? 1 : 5) }
    private var rows: Int { chosenRows ?? (quick ? 5_000_000 : 100_000_000) }
    /// The length of a round, as a fraction of its usual length.
    private var length: Double { quick ? 0.2 : 1 }
    private var sync: String { chosenSync ?? "full" }

    func validate() throws {
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds takes a number from 1 to 1000") }
        guard rows >= 5_000_000 else { throw ValidationError("--rows takes at least 5000000") }
        guard ["normal", "full"].contains(sync) else { throw ValidationError("--sync takes normal or full") }
    }

    func run() throws {
        guard !check else { return }
        for name in names.isEmpty ? Name.allCases.filter({ $0 != .cluster }) : names {
            StatusLine.show("\(name.rawValue): preparing")
            defer { StatusLine.clear() }
            for part in try parts(of: name) { try part().forEach(report) }
        }
    }

    /// Writes a comparison to standard output at once. `print` would buffer it unless the output is a terminal.
    private func report(_ comparison: Comparison) {
        StatusLine.clear()
        let text = json ? comparison.json(isQuick: quick) : comparison.text(isQuick: quick) + "\n"
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    /// Returns the measurements of a benchmark, each with its comparisons.
    private func parts(of name: Name) throws -> [() throws -> [Comparison]] {
        let ingest = IngestBenchmarks(
            programs: programs, python: python, scripts: scripts, sync: sync, rounds: rounds, length: length)
        let cluster = ClusterBenchmarks(programs: programs, rounds: rounds, length: length)
        let fleet = FleetBenchmarks(programs: programs, sync: sync, rounds: rounds, length: length)
        return switch name {
        case .attitude: [attitude]
        case .agent:
            [AgentBenchmark(programs: programs, recordings: recordings, rounds: rounds, length: length).run]
        case .serveLive: [ServeLiveBenchmark(programs: programs, rounds: rounds, length: length).run]
        case .gateway: [GatewayBenchmark(programs: programs, rounds: rounds, length: length).run]
        case .outboxWrites: try OutboxWritesBenchmark(recordings: recordings, length: length).parts
        case .wireSize: [WireSizeBenchmark(batches: try walks()).run]
        case .codec: [CodecBenchmark(batches: try walks(), rounds: rounds).run]
        case .refine: [try RefineBenchmark(recordings: recordings, rounds: rounds).run]
        case .live: [LiveBenchmark(rounds: rounds, length: length).run]
        case .scale: [fleet.scale]
        case .outage: [fleet.outage]
        case .latency: [LatencyBenchmark(programs: programs, sync: sync, rounds: rounds, length: length).run]
        case .ingestBatches: [ingest.batches]
        case .ingestSmall: [ingest.small]
        case .ingestReplay: [ingest.replay]
        case .rules: [ingest.rules]
        case .cluster: [cluster.ingest, cluster.collectors, cluster.devices, cluster.quorum]
        case .clusterIngest: [cluster.ingest]
        case .clusterCollectors: [cluster.collectors]
        case .clusterDevices: [cluster.devices]
        case .clusterQuorum: [cluster.quorum]
        // Reports its results itself, run by run.
        case .writes: [writeBytes]
        case .merges:
            MergesBenchmark(
                syncs: chosenSync.map { [$0] } ?? ["full"], options: writes,
                seconds: writes.seconds ?? Int(300 * length)
            ).parts
        case .servePoints: [ServePointsBenchmark(store: try QueryStore(rows: rows, in: cache), rounds: rounds).run]
        case .query:
            QueryBenchmarks(
                programs: programs, store: try QueryStore(rows: rows, in: cache), rounds: rounds
            ).parts
        }
    }

    private func writeBytes() throws -> [Comparison] {
        try WritesBenchmark(
            programs: programs, syncs: chosenSync.map { [$0] } ?? ["normal", "full"], options: writes,
            seconds: writes.seconds ?? Int(30 * length), json: json
        ).run()
        return []
    }

    private func walks() throws -> WalkBatches {
        let names = try FileManager.default.contentsOfDirectory(atPath: recordings + "/walks")
        return try WalkBatches(
            recordings: recordings, names: names.filter { $0.hasSuffix(".csv") && $0 != "truth.csv" }.sorted())
    }

    private func attitude() throws -> [Comparison] {
        let trials = [
            "06_undisturbed_fast_rotation_A", "10_undisturbed_slow_translation_A", "28_disturbed_stationary_magnet_A",
        ].map { "\(recordings)/orientation/\($0).csv" }
        let ours = try AttitudeBenchmark(recordings: trials)
        let theirs = try PythonSide(python: python, script: scripts + "/attitude.py", arguments: trials)
        defer { theirs.stop() }
        // Warm up both sides.
        _ = (ours.run(), try theirs.run())
        return try compare(
            "attitude", [Metric(name: "speed", unit: "samples/s")], rounds: rounds,
            [
                Contender(name: "lockstep") { [ours.run()] },
                Contender(name: "vqf, C++ updateBatch") { [try theirs.run()] },
            ])
    }
}
