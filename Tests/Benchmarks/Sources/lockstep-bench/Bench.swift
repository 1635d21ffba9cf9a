import ArgumentParser
import Foundation

@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-bench", abstract: "Measures all sides of a comparison in turn. Run by deploy/bench.")

    enum Name: String, CaseIterable, ExpressibleByArgument {
        case attitude, agent, codec, scale, outage, latency, query, writes
        case wireSize = "wire-size"
        case ingestBatches = "ingest-batches"
        case ingestSmall = "ingest-small"
        case ingestReplay = "ingest-replay"
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

    @Option(help: "Rows of the store for the query benchmarks.")
    var rows: Int

    @Option(help: "Rounds per side.")
    var rounds = 5

    @Option(
        name: .customLong("sync"),
        help: "Durability of commits on all sides that store: normal or full (default: full; 'writes' measures both).")
    var chosenSync: String?

    @OptionGroup var writes: WritesOptions

    @Flag(help: "Print one JSON object per comparison.")
    var json = false

    private var sync: String { chosenSync ?? "full" }

    func validate() throws {
        guard rounds >= 5 else { throw ValidationError("--rounds takes at least 5: fewer rounds are not significant") }
        guard ["normal", "full"].contains(sync) else { throw ValidationError("--sync takes normal or full") }
    }

    func run() throws {
        for name in names.isEmpty ? Name.allCases : names {
            if name == .writes {
                let syncs = chosenSync.map { [$0] } ?? ["normal", "full"]
                try WritesBenchmark(programs: programs, syncs: syncs, options: writes, json: json).run()
            }
            for comparison in try comparisons(name) {
                print(json ? comparison.json : comparison.text, terminator: json ? "" : "\n")
            }
        }
    }

    private func comparisons(_ name: Name) throws -> [Comparison] {
        let ingest = IngestBenchmarks(
            programs: programs, python: python, scripts: scripts, sync: sync, rounds: rounds)
        let fleet = FleetBenchmarks(programs: programs, sync: sync, rounds: rounds)
        return switch name {
        case .attitude: try attitude()
        case .agent: try AgentBenchmark(programs: programs, recordings: recordings, rounds: rounds).run()
        case .wireSize: try WireSizeBenchmark(batches: try walks()).run()
        case .codec: try CodecBenchmark(batches: try walks()).run(rounds: rounds)
        case .scale: try fleet.scale()
        case .outage: try fleet.outage()
        case .latency: try LatencyBenchmark(programs: programs, sync: sync, rounds: rounds).run()
        case .ingestBatches: try ingest.batches()
        case .ingestSmall: try ingest.small()
        case .ingestReplay: try ingest.replay()
        // Writes its results line by line.
        case .writes: []
        case .query:
            try QueryBenchmarks(
                programs: programs, store: try QueryStore(rows: rows, in: cache), rounds: rounds
            ).run()
        }
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
