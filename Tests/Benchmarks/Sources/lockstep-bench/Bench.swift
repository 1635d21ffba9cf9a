import ArgumentParser
import Foundation

@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-bench", abstract: "Measures both sides of a comparison in one go. Run by deploy/bench.")

    enum Name: String, CaseIterable, ExpressibleByArgument {
        case attitude, agent, codec, scale, outage, latency, query
        case wireSize = "wire-size"
        case ingestBatches = "ingest-batches"
        case ingestSmall = "ingest-small"
        case ingestReplay = "ingest-replay"
    }

    @Argument(help: "Which (default: all).")
    var names: [Name] = []

    @Option(help: "A Python that has the packages of the other side.")
    var python: String

    @Option(help: "The folder of the recordings: shared/data.")
    var recordings: String

    @Option(help: "The folder of the other side's scripts.")
    var scripts: String

    @Option(help: "The folder of the built programs.")
    var programs: String

    @Option(help: "The folder in which large stores are kept.")
    var cache: String

    @Option(help: "Rows of the store that is queried.")
    var rows: Int

    @Option(help: "How often each side runs.")
    var rounds = 5

    @Flag(help: "One JSON object a comparison.")
    var json = false

    func validate() throws {
        guard rounds >= 5 else { throw ValidationError("fewer than 5 rounds say nothing") }
    }

    func run() throws {
        for name in names.isEmpty ? Name.allCases : names {
            for comparison in try comparisons(name) {
                print(json ? comparison.json : comparison.text, terminator: json ? "" : "\n")
            }
        }
    }

    private func comparisons(_ name: Name) throws -> [Comparison] {
        let ingest = IngestBenchmarks(programs: programs, python: python, scripts: scripts, rounds: rounds)
        let fleet = FleetBenchmarks(programs: programs, rounds: rounds)
        return switch name {
        case .attitude: try attitude()
        case .agent: try AgentBenchmark(programs: programs, recordings: recordings, rounds: rounds).run()
        case .wireSize: try WireSizeBenchmark(batches: try walks()).run()
        case .codec: try CodecBenchmark(batches: try walks()).run(rounds: rounds)
        case .scale: try fleet.scale()
        case .outage: try fleet.outage()
        case .latency: try LatencyBenchmark(programs: programs, rounds: rounds).run()
        case .ingestBatches: try ingest.batches()
        case .ingestSmall: try ingest.small()
        case .ingestReplay: try ingest.replay()
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
        // The first call of each side is to warm up.
        _ = (ours.run(), try theirs.run())
        return try compare(
            "attitude", [Metric(name: "speed", unit: "samples/s")], rounds: rounds,
            [
                Contender(name: "lockstep") { [ours.run()] },
                Contender(name: "vqf, C++ updateBatch") { [try theirs.run()] },
            ])
    }
}
