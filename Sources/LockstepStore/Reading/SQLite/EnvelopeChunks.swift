import Synchronization

/// The parts of a time range that the threads of a query share. Each part is claimed by one thread.
///
/// There are more parts than threads: a thread that gets less processor time claims fewer of them.
final class EnvelopeChunks: Sendable {
    /// The number of parts of a long range. Fewer than 63, because claimed parts are a bit set in SQL.
    private static let maxCount: Int64 = 24

    /// The whole range, in µs since 1970.
    private let range: Range<Int64>
    /// The start of the first part in which samples of the table can be. The first part itself starts with the range.
    let start: Int64
    /// The length of a part, in µs. The last one ends with the range.
    let length: Int64
    /// The number of parts.
    let count: Int
    private let next = Atomic<Int>(0)

    /// - Parameters:
    ///   - extent: the times of the first and last sample of the table, or nil if there is none.
    ///   - unit: the length in µs of what no limit between two parts may divide: a minute, or 1.
    init(_ range: Range<Int64>, extent: ClosedRange<Int64>?, unit: Int64 = 1) {
        self.range = range
        let first = extent?.lowerBound ?? range.lowerBound
        let start = SummarySpans(origin: 0, width: unit).start(of: first)
        self.start = start
        let span = extent.map { $0.upperBound - start + 1 } ?? 1
        length = max(1, (span + Self.maxCount * unit - 1) / (Self.maxCount * unit)) * unit
        count = Int((span + length - 1) / length)
    }

    /// Returns the next part, or nil if there is none. Each part is returned once.
    func claim() -> Int? {
        let chunk = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return chunk < count ? chunk : nil
    }

    /// Whether parts are left.
    var isEmpty: Bool { next.load(ordering: .relaxed) >= count }

    /// Claims all parts that are left, so that all threads end.
    func close() { next.store(count, ordering: .relaxed) }

    /// Returns the part that contains a time of the range.
    func chunk(at time: Int64) -> Int {
        guard time > start else { return 0 }
        return Int(min((time - start) / length, Int64(count - 1)))
    }

    /// Returns the times of a part.
    func times(of chunk: Int) -> Range<Int64> {
        let first = chunk == 0 ? range.lowerBound : start + Int64(chunk) * length
        let end = chunk == count - 1 ? range.upperBound : start + Int64(chunk + 1) * length
        return first..<max(first, min(end, range.upperBound))
    }
}
