/// What is measured on every side of a benchmark.
struct Metric {
    /// `rows`, `CPU`.
    let name: String
    /// `rows/s`, `µs/row`.
    let unit: String
    /// Digits after the point.
    var digits = 0
}

/// One way to do what a benchmark is about.
struct Contender {
    let name: String
    /// Does it once: a value for each metric of the benchmark.
    let run: () throws -> [Double]
}

/// One metric of several ways to do the same.
struct Comparison {
    struct Side {
        let name: String
        /// One of each round.
        let values: [Double]
        /// % of the cores' time that the machine's host withheld in each round, preparation included; none where
        /// nothing was run.
        var stolen: [Double] = []
    }

    /// `ingest-batches`.
    let benchmark: String
    let metric: Metric
    /// The last one is what the others are compared with.
    let sides: [Side]

    /// Of the medians.
    func ratio(of side: Side) -> Double { side.values.median / (sides.last?.values.median ?? .nan) }
}

/// Runs all contenders in turn, so that whatever else the machine does falls on each of them.
func compare(
    _ benchmark: String, _ metrics: [Metric], rounds: Int, _ contenders: [Contender]
) throws -> [Comparison] {
    var values = Array(repeating: Array(repeating: [Double](), count: contenders.count), count: metrics.count)
    var stolen = Array(repeating: [Double](), count: contenders.count)
    for _ in 0..<rounds {
        for (side, contender) in contenders.enumerated() {
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
    /// The one in the middle; of an even number, the mean of the two there.
    /// - Precondition: there is one.
    var median: Double {
        let sorted = sorted()
        let middle = count / 2
        return count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}

/// The value below which a part of the values lies.
/// - Precondition: there is one.
func quantile(_ part: Double, of values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(part * Double(sorted.count)))]
}
