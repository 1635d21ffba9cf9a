import Foundation
import LockstepModel
import LockstepStore

/// Simulated devices, a broker and a collector, from the start to the last acknowledgement.
struct FleetRun {
    /// Folder of the built programs.
    let programs: String

    struct Outcome {
        /// What `lockstep simulate --json` says.
        let report: Report
        /// s of each live sample of some devices, from its time to its commit.
        let ages: [Double]
    }

    /// The parts of the report that are used here.
    struct Report: Decodable {
        struct Amount: Decodable { let samples: Int }

        let complete: Bool
        /// When live data began, in µs since 1970.
        let began: Int64
        /// s from then to the last acknowledgement.
        let delivered: Double
        let acknowledged: Amount

        enum CodingKeys: String, CodingKey {
            case complete, began, acknowledged
            case delivered = "delivered_s"
        }
    }

    /// What a steady stream costs the collector: s of CPU a sample, and bytes at its peak. Without what it costs that
    /// devices come and go: from when `first` samples are stored, for at least `count` more.
    func steadyCost(_ arguments: [String], after first: Int, for count: Int) throws -> (cpu: Double, memory: Int) {
        try withSystem { broker, collector, store in
            let fleet = try Launched(programs + "/lockstep", ["simulate", "--broker", broker.url] + arguments)
            defer { fleet.stop() }
            let reader = try StoreReader(path: store)
            func stored() throws -> Int { Int(try reader.devices().reduce(0) { $0 + $1.samples }) }
            func wait(for count: Int) throws {
                // A look that finds the store busy is made up for by the next.
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

    /// - Parameters:
    ///   - arguments: of `lockstep simulate`.
    ///   - watched: devices whose commits are watched.
    func run(_ arguments: [String], watching watched: [String] = []) throws -> Outcome {
        try withSystem { broker, _, store in
            let watch = try watched.isEmpty ? nil : CommitWatch(store: store, devices: watched)
            let text = try Launched.run(
                programs + "/lockstep", ["simulate", "--broker", broker.url, "--json"] + arguments)
            let commits = watch?.stop() ?? []
            let report = try JSONDecoder().decode(Report.self, from: Data(text.utf8))
            guard report.complete else { throw Failure("lockstep simulate says that samples are missing") }
            return Outcome(
                report: report,
                ages: commits.filter { $0.time.microseconds >= report.began }.map { Double($0.age) / 1e6 })
        }
    }

    /// Gives `body` a broker, a collector that is online, and the path of its store.
    private func withSystem<Result>(_ body: (BenchBroker, Launched, String) throws -> Result) throws -> Result {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let store = folder + "/store.db"
            let collector = try Launched(
                programs + "/lockstep-collector",
                ["--broker", broker.url, "--store", "sqlite:" + store, "--log-level", "error"])
            defer { collector.stop() }
            // A fleet counts on a collector that is there.
            try broker.wait(for: "lockstep/default/$collector/main")
            return try body(broker, collector, store)
        }
    }
}
