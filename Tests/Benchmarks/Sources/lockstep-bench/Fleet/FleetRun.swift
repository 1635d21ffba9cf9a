import Foundation
import LockstepModel
import LockstepStore

/// A run of simulated devices, a broker and a collector, from the start to the last acknowledgement.
struct FleetRun {
    /// Folder of the built programs.
    let programs: String
    /// Durability of the collector's commits.
    let sync: String

    struct Outcome {
        /// The report of `lockstep simulate --json`.
        let report: Report
        /// The time from each live sample of the watched devices to its commit, in s.
        let ages: [Double]
    }

    /// The used parts of the report.
    struct Report: Decodable {
        struct Amount: Decodable { let samples: Int }

        /// The used parts of a distribution, in ms.
        struct Quantiles: Decodable { let p50, p99: Double? }
        struct Lag: Decodable { let live: Quantiles }

        let complete: Bool
        /// The start of live data, in µs since 1970.
        let began: Int64
        /// The time from then to the last acknowledgement, in s.
        let delivered: Double
        let acknowledged: Amount
        /// The time from the completion of a batch to its acknowledgement.
        let lag: Lag

        enum CodingKeys: String, CodingKey {
            case complete, began, acknowledged
            case delivered = "delivered_s"
            case lag = "lag_ms"
        }
    }

    /// Measures the collector's CPU time per sample, in s, and its peak memory, in bytes, for a steady stream. To
    /// exclude the cost of connecting devices, it measures at least `count` samples after the first `first` ones.
    func steadyCost(_ arguments: [String], after first: Int, for count: Int) throws -> (cpu: Double, memory: Int) {
        try withSystem { broker, collector, store in
            let fleet = try Launched(programs + "/lockstep", ["simulate", "--broker", broker.url] + arguments)
            defer { fleet.stop() }
            let reader = try StoreReader(path: store)
            func stored() throws -> Int { Int(try reader.devices().reduce(0) { $0 + $1.samples }) }
            func wait(for count: Int) throws {
                // If the store is busy, the next poll succeeds.
                try waitUntil("\(count) samples are stored", seconds: 120, every: 500) {
                    ((try? stored()) ?? 0) >= count
                }
            }
            try wait(for: first)
            let before = (samples: try stored(), cpu: try collector.cpuTime())
            try wait(for: before.samples + count)
            let after = (samples: try stored(), cpu: try collector.cpuTime())
            return (
                (after.cpu - before.cpu) / Double(after.samples - before.samples), try collector.peakMemory()
            )
        }
    }

    /// Runs `lockstep simulate` until it ends.
    /// - Parameters:
    ///   - arguments: Arguments of `lockstep simulate`.
    ///   - watched: Devices whose commits are recorded.
    func run(_ arguments: [String], watching watched: [String] = []) throws -> Outcome {
        try withSystem { broker, _, store in
            let watch = try watched.isEmpty ? nil : CommitWatch(store: store, devices: watched)
            let text = try Launched.run(
                programs + "/lockstep", ["simulate", "--broker", broker.url, "--json"] + arguments)
            let commits = watch?.stop() ?? []
            let report = try JSONDecoder().decode(Report.self, from: Data(text.utf8))
            guard report.complete else { throw Failure("lockstep simulate reports missing samples") }
            return Outcome(
                report: report,
                ages: commits.filter { $0.time.microseconds >= report.began }.map { Double($0.age) / 1e6 })
        }
    }

    /// Calls `body` with a broker, an online collector, and the path of its store.
    private func withSystem<Result>(_ body: (BenchBroker, Launched, String) throws -> Result) throws -> Result {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let store = folder + "/store.db"
            let collector = try Launched(
                programs + "/lockstep-collector",
                ["--broker", broker.url, "--store", "sqlite:" + store, "--sync", sync, "--log-level", "error"])
            defer { collector.stop() }
            // `lockstep simulate` needs a collector that is online.
            try broker.wait(for: "lockstep/default/$collector/main")
            return try body(broker, collector, store)
        }
    }
}
