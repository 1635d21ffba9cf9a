import Foundation

/// What many devices cost, and what an outage does to the live data of others.
struct FleetBenchmarks {
    let programs: String
    let rounds: Int

    /// 10,000 samples a second in batches of 10, from more and more devices.
    func scale() throws -> [Comparison] {
        try compare(
            "scale",
            [
                Metric(name: "CPU of the collector", unit: "µs/sample", digits: 2),
                Metric(name: "memory of the collector", unit: "MB", digits: 1),
            ], rounds: rounds,
            [10_000, 1000, 100, 10].map { devices in
                Contender(name: "\(devices) devices") {
                    let cost = try FleetRun(programs: programs).steadyCost(
                        [
                            "--devices", "\(devices)", "--connections", "\(min(devices, 50))",
                            "--rate", fixed(10_000 / Double(devices), digits: 3),
                            "--window", fixed(Double(devices) / 1000, digits: 3), "--seconds", "600",
                        ], after: 100_000, for: 200_000)
                    return [cost.cpu * 1e6, Double(cost.memory) / 1e6]
                }
            })
    }

    /// 1,000 devices with 10 samples a second each that come back with an hour's samples in their outboxes, beside
    /// the same without.
    func outage() throws -> [Comparison] {
        let live = [
            "--devices", "1000", "--connections", "50", "--rate", "10", "--seconds", "30",
        ]
        return try compare(
            "outage",
            [
                Metric(name: "live, from a sample's time to its commit, 99 %", unit: "ms"),
                Metric(name: "rows", unit: "rows/s"),
            ], rounds: rounds,
            [("an hour's backlog", live + ["--backlog", "3600"]), ("live alone", live)].map { name, arguments in
                Contender(name: name) {
                    // One of each tenth of the devices.
                    let watched = stride(from: 1, through: 1000, by: 100).map { String(format: "sim-%04d", $0) }
                    let outcome = try FleetRun(programs: programs).run(arguments, watching: watched)
                    let report = outcome.report
                    return [
                        quantile(0.99, of: outcome.ages) * 1000,
                        Double(report.acknowledged.samples) / report.delivered,
                    ]
                }
            })
    }
}
