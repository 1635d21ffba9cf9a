/// A quantity that a benchmark measures on every side.
struct Metric {
    /// For example, `rows` or `CPU`.
    let name: String
    /// For example, `rows/s` or `µs/row`.
    let unit: String
    /// The number of decimals in reports.
    var digits = 0
}

/// One side of a benchmark.
struct Contender {
    let name: String
    /// Runs one round and returns a value for each metric of the benchmark.
    let run: () throws -> [Double]
}

/// The results of all sides of a benchmark for one metric.
struct Comparison {
    struct Side {
        let name: String
        /// One value per round.
        let values: [Double]
        /// The stolen time of each round, in % of the CPU time, including preparation. Empty for computed sides.
        var stolen: [Double] = []
    }

    /// The name of the benchmark, for example `ingest-batches`.
    let benchmark: String
    let metric: Metric
    /// The last side is the reference.
    let sides: [Side]

    /// Returns the ratio of the median of a side to that of the reference.
    func ratio(of side: Side) -> Double { side.values.median / (sides.last?.values.median ?? .nan) }
}

/// Runs all sides in turn, so that other load on the machine affects each of them. Shows each round on standard error.
func compare(
    _ benchmark: String, _ metrics: [Metric], rounds: Int, _ contenders: [Contender]
) throws -> [Comparison] {
    var values = Array(repeating: Array(repeating: [Double](), count: contenders.count), count: metrics.count)
    var stolen = Array(repeating: [Double](), count: contenders.count)
    let progress = RoundProgress(of: benchmark, rounds: rounds)
    defer { StatusLine.clear() }
    for round in 0..<rounds {
        for (side, contender) in contenders.enumerated() {
            progress.show(round: round + 1, side: contender.name)
            let run = try StolenTime.during(contender.run)
            stolen[side].append(run.share)
            for (metric, value) in run.result.enumerated() { values[metric][side].append(value) }
        }
    }
    return metrics.indices.map { metric in
        Comparison(
            benchmark: benchmark, metric: metrics[metric],
            sides: contenders.indices.map { side in
                Comparison.Side(
                    name: contenders[side].name, values: values[metric][side], stolen: stolen[side])
            })
    }
}

extension [Double] {
    /// The median. For an even number of values, the mean of the two in the middle.
    /// - Precondition: The array is not empty.
    var median: Double {
        let sorted = sorted()
        let middle = count / 2
        return count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

/// Returns the quantile of the values for a fraction from 0 to 1.
/// - Precondition: The array is not empty.
func quantile(_ part: Double, of values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(part * Double(sorted.count)))]
}
