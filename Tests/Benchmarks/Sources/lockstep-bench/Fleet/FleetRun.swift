import Foundation

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
    }

    /// The parts of the report that are used here.
    struct Report: Decodable {
        struct Amount: Decodable { let samples: Int }
        struct Lag: Decodable { let p50, p99: Double }
        struct Lags: Decodable { let live: Lag }

        let complete: Bool
        let seconds: Double
        let acknowledged: Amount
        /// ms
        let lags: Lags

        enum CodingKeys: String, CodingKey {
            case complete, seconds, acknowledged
            case lags = "lag_ms"
        }
    }

    /// - Parameter arguments: of `lockstep simulate`.
    func run(_ arguments: [String]) throws -> Outcome {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let collector = try Launched(
                programs + "/lockstep-collector",
                ["--broker", broker.url, "--store", "sqlite:\(folder)/store.db", "--log-level", "error"])
            defer { collector.stop() }
            // The report counts what a collector that is there takes in.
            try broker.wait(for: "lockstep/default/$collector/main")
            let text = try Launched.run(
                programs + "/lockstep", ["simulate", "--broker", broker.url, "--json"] + arguments)
            let report = try JSONDecoder().decode(Report.self, from: Data(text.utf8))
            guard report.complete else { throw Failure("lockstep simulate says that samples are missing") }
            return Outcome(
                report: report, collectorCPU: try collector.cpuTime(), collectorMemory: try collector.peakMemory())
        }
    }
}
