import Foundation
import LockstepStore

/// A run of one collector that stores the messages queued for it in a broker.
struct IngestRun {
    let programs: String
    /// Durability of the collector's commits.
    let sync: String
    let broker: BenchBroker
    /// The path of the store, which need not exist yet.
    let store: String
    /// Further options of the collector.
    var options: [String] = []

    private static let collector = "bench"

    /// Lets the broker queue `load`, and measures the collector from its start to the commit of the last sample.
    func run(_ load: IngestLoad) throws -> Effort {
        try broker.keepMessages(for: "lockstep-collector-\(Self.collector)")
        try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load.messageFile])
        let before = FileManager.default.fileExists(atPath: store) ? try taken() : 0
        let clock = ContinuousClock()
        let begin = clock.now
        let process = try Launched(
            programs + "/lockstep-collector",
            [
                "--broker", broker.url, "--store", "sqlite:" + store, "--sync", sync, "--id", Self.collector,
                "--log-level", "error",
            ] + options)
        defer { process.stop() }
        do {
            try Launched.run(
                Launched.beside("await-samples"), [store, "\(before + load.samples)", "\(process.id)", "600"])
        } catch {
            throw Failure("the collector ended, or did not store all samples within 600 s: try to start it by hand")
        }
        let seconds = (clock.now - begin) / .seconds(1)
        return Effort(seconds: seconds, cpu: try process.cpuTime(), count: load.samples)
    }

    /// The number of samples that the store has received, including duplicates and conflicts.
    private func taken() throws -> Int {
        let devices = try StoreReader(path: store).devices()
        return Int(devices.reduce(0) { $0 + $1.samples + $1.duplicates + $1.conflicts })
    }
}
