import Foundation

/// The cost of many devices, and the effect of an outage on live data.
struct FleetBenchmarks {
    let programs: String
    /// Durability of the collector's commits.
    let sync: String
    let rounds: Int
    /// The length of a round, as a fraction of its usual length.
    let length: Double

    /// Compares 10,000 samples a second in batches of 10, from different numbers of devices.
    func scale() throws -> [Comparison] {
        try compare(
            "scale",
            [
                Metric(name: "CPU of the collector", unit: "µs/sample", digits: 2),
                Metric(name: "memory of the collector", unit: "MB", digits: 1),
            ], rounds: rounds,
            [10_000, 1000, 100, 10].map { devices in
                Contender(name: "\(devices) devices") {
                    let cost = try FleetRun(programs: programs, sync: sync).steadyCost(
                        [
                            "--devices", "\(devices)", "--connections", "\(min(devices, 50))",
                            "--sample-rate", fixed(10_000 / Double(devices), digits: 3),
                            "--window", fixed(Double(devices) / 1000, digits: 3), "--seconds", "600",
                        ], after: 100_000, for: Int(200_000 * length))
                    return [cost.cpu * 1e6, Double(cost.memory) / 1e6]
                }
            })
    }

    /// Compares 1,000 devices with 10 samples a second each that reconnect with a backlog of one hour, with the same
    /// devices without backlog. Shorter rounds have less backlog.
    func outage() throws -> [Comparison] {
        let backlog = Int(3600 * length)
        let live = [
            "--devices", "1000", "--connections", "50", "--sample-rate", "10", "--seconds", "\(Int(30 * length))",
        ]
        return try compare(
            "outage",
            [
                Metric(name: "live, from a sample's time to its commit, 99 %", unit: "ms"),
                Metric(name: "rows", unit: "rows/s"),
            ], rounds: rounds,
            [("\(backlog / 60) min of backlog", live + ["--backlog", "\(backlog)"]), ("live alone", live)].map {
                name, arguments in
                Contender(name: name) {
                    // Every hundredth device.
                    let watched = stride(from: 1, through: 1000, by: 100).map { String(format: "sim-%04d", $0) }
                    let outcome = try FleetRun(programs: programs, sync: sync).run(arguments, watching: watched)
                    let report = outcome.report
                    return [
                        quantile(0.99, of: outcome.ages) * 1000,
                        Double(report.acknowledged.samples) / report.delivered,
                    ]
                }
            })
    }
}
