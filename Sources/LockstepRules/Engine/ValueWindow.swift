/// A figure of the values in a sliding time span, kept in twenty parts.
struct ValueWindow: Sendable {
    private struct Part {
        var number: Int64
        var sum = 0.0
        var count = 0.0
        var min = Double.infinity
        var max = -Double.infinity
    }

    private let part: Int64
    private let span: Int64
    private var parts: [Part] = []
    private var first: Int64?

    init(span: Int64) {
        self.span = span
        part = Swift.max(1, span / 20)
    }

    /// Adds a value and returns the figure, or nil until the span has passed once since the first value.
    mutating func add(_ value: Double, at time: Int64, _ aggregate: ValueCondition.Aggregate) -> Double? {
        let number = time / part
        if parts.last?.number != number { parts.append(Part(number: number)) }
        let last = parts.count - 1
        parts[last].sum += value
        parts[last].count += 1
        parts[last].min = Swift.min(parts[last].min, value)
        parts[last].max = Swift.max(parts[last].max, value)
        while let oldest = parts.first, oldest.number <= number - 20 { parts.removeFirst() }
        let start = first ?? time
        first = start
        // After a gap the span has to pass again: the values in between are unknown.
        if parts.count == 1, time - start >= span { first = time }
        guard let first, time - first >= span - part else { return nil }
        let count = parts.reduce(0) { $0 + $1.count }
        let sum = parts.reduce(0) { $0 + $1.sum }
        switch aggregate {
        case .mean: return sum / count
        case .sum: return sum
        case .count: return count
        case .min: return parts.map(\.min).min()
        case .max: return parts.map(\.max).max()
        }
    }
}
