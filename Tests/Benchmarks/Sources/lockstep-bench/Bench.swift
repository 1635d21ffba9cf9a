import ArgumentParser
import Foundation

@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-bench", abstract: "Measures both sides of a comparison in one go. Run by deploy/bench.")

    @Argument(help: "Which: attitude, agent, wire-size, codec (default: all).")
    var names: [String] = []

    @Option(help: "A Python that has the packages of the other side.")
    var python: String

    @Option(help: "The folder of the recordings: shared/data.")
    var recordings: String

    @Option(help: "The folder of the other side's scripts.")
    var scripts: String

    @Option(help: "The folder of the built programs.")
    var programs: String

    @Option(help: "How often each side runs.")
    var rounds = 7

    @Flag(help: "One JSON object a comparison.")
    var json = false

    func validate() throws {
        if let unknown = names.first(where: { !Self.all.contains($0) }) {
            throw ValidationError("there is no benchmark '\(unknown)': use \(Self.all.joined(separator: ", "))")
        }
        guard rounds >= 5 else { throw ValidationError("fewer than 5 rounds say nothing") }
    }

    private static let all = ["attitude", "agent", "wire-size", "codec"]

    func run() throws {
        for name in names.isEmpty ? Self.all : names {
            switch name {
            case "agent":
                let result = try AgentBenchmark(programs: programs, seconds: 30).run()
                print(json ? result.json : result.text, terminator: "")
            case "wire-size":
                let result = try WireSizeBenchmark(batches: try walks()).run()
                print(json ? result.json : result.text, terminator: "")
            case "codec":
                let result = try CodecBenchmark(batches: try walks()).run(rounds: rounds)
                print(json ? result.json : result.text, terminator: "")
            default:
                let comparison = try attitude()
                print(json ? comparison.json : comparison.text, terminator: "")
            }
        }
    }

    private func walks() throws -> WalkBatches {
        let names = try FileManager.default.contentsOfDirectory(atPath: recordings + "/walks")
        return try WalkBatches(
            recordings: recordings, names: names.filter { $0.hasSuffix(".csv") && $0 != "truth.csv" }.sorted())
    }

    private func attitude() throws -> Comparison {
        let trials = [
            "06_undisturbed_fast_rotation_A", "10_undisturbed_slow_translation_A", "28_disturbed_stationary_magnet_A",
        ].map { "\(recordings)/orientation/\($0).csv" }
        let ours = try AttitudeBenchmark(recordings: trials)
        let theirs = try PythonSide(python: python, script: scripts + "/attitude.py", arguments: trials)
        defer { theirs.stop() }
        // The first call of each side is to warm up.
        _ = (ours.run(), try theirs.run())
        return try Comparison(
            "attitude", unit: "samples/s", rounds: rounds, ours: ("lockstep", ours.run),
            theirs: ("vqf C++ updateBatch", theirs.run))
    }
}
