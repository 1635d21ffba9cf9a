import Foundation
import LockstepStore

/// One collector that takes in what waits for it in a broker.
struct IngestRun {
    let programs: String
    let broker: BenchBroker
    /// Where the store is, or will be.
    let store: String

    private static let collector = "bench"

    /// Has the broker keep `load` for the collector, and then the collector take it in: from its start to the commit
    /// of the last sample, over what the store has already.
    func run(_ load: IngestLoad) throws -> Effort {
        try broker.keepMessages(for: "lockstep-collector-\(Self.collector)")
        try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load.messageFile])
        let before = FileManager.default.fileExists(atPath: store) ? try taken() : 0
        let clock = ContinuousClock()
        let begin = clock.now
        let process = try Launched(
            programs + "/lockstep-collector",
            ["--broker", broker.url, "--store", "sqlite:" + store, "--id", Self.collector, "--log-level", "error"])
        defer { process.stop() }
        do {
            try Launched.run(
                Launched.beside("await-samples"), [store, "\(before + load.samples)", "\(process.id)", "600"])
        } catch {
            throw Failure("the collector has ended, or does not take all in within 600 s: does it start by hand?")
        }
        let seconds = (clock.now - begin) / .seconds(1)
        return Effort(seconds: seconds, cpu: try process.cpuTime(), count: load.samples)
    }

    /// Samples that the store has met.
    private func taken() throws -> Int {
        let devices = try StoreReader(path: store).devices()
        return Int(devices.reduce(0) { $0 + $1.samples + $1.duplicates + $1.conflicts })
    }
}
