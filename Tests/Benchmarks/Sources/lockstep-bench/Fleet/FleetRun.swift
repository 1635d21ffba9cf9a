import Foundation
import LockstepModel

/// Simulated devices, a broker and a collector, from the start to the last acknowledgement.
struct FleetRun {
    /// Folder of the built programs.
    let programs: String

    struct Outcome {
        /// What `lockstep simulate --json` says.
        let report: Report
        /// s of CPU of the collector.
        let collectorCPU: Double
        /// Bytes at the collector's peak.
        let collectorMemory: Int
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

    /// - Parameters:
    ///   - arguments: of `lockstep simulate`.
    ///   - watched: devices whose commits are watched.
    func run(_ arguments: [String], watching watched: [String] = []) throws -> Outcome {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let collector = try Launched(
                programs + "/lockstep-collector",
                ["--broker", broker.url, "--store", "sqlite:\(folder)/store.db", "--log-level", "error"])
            defer { collector.stop() }
            // The report counts what a collector that is there takes in.
            try broker.wait(for: "lockstep/default/$collector/main")
            let watch = try watched.isEmpty ? nil : CommitWatch(store: folder + "/store.db", devices: watched)
            let text = try Launched.run(
                programs + "/lockstep", ["simulate", "--broker", broker.url, "--json"] + arguments)
            let commits = watch?.stop() ?? []
            let report = try JSONDecoder().decode(Report.self, from: Data(text.utf8))
            guard report.complete else { throw Failure("lockstep simulate says that samples are missing") }
            return Outcome(
                report: report, collectorCPU: try collector.cpuTime(), collectorMemory: try collector.peakMemory(),
                ages: commits.filter { $0.time.microseconds >= report.began }.map { Double($0.age) / 1e6 })
        }
    }
}
