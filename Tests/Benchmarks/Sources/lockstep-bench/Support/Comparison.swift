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

        var median: Double {
            let sorted = values.sorted()
            let middle = sorted.count / 2
            return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        }
    }

    /// `ingest-batches`.
    let benchmark: String
    let metric: Metric
    /// The last one is what the others are compared with.
    let sides: [Side]

    /// Of the medians.
    func ratio(of side: Side) -> Double { side.median / (sides.last?.median ?? .nan) }
}

/// Runs all contenders in turn, so that whatever else the machine does falls on each of them.
func compare(
    _ benchmark: String, _ metrics: [Metric], rounds: Int, _ contenders: [Contender]
) throws -> [Comparison] {
    var values = Array(repeating: Array(repeating: [Double](), count: contenders.count), count: metrics.count)
    for _ in 0..<rounds {
        for (side, contender) in contenders.enumerated() {
            for (metric, value) in try contender.run().enumerated() { values[metric][side].append(value) }
        }
    }
    return metrics.indices.map { metric in
        Comparison(
            benchmark: benchmark, metric: metrics[metric],
            sides: zip(contenders, values[metric]).map { Comparison.Side(name: $0.name, values: $1) })
    }
}

/// The value below which a part of the values lies.
/// - Precondition: there is one.
func quantile(_ part: Double, of values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(part * Double(sorted.count)))]
}
