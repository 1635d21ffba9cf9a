import LockstepCommandLine
import LockstepModel
import LockstepStore

/// Writes the rows of a run that are in the time range, and counts them.
struct RefinedOutput {
    let run: any RefinedWriting
    /// The time range for which the rows are valid; it is not empty.
    let range: Range<Int64>
    var progress = ProgressLine()
    private(set) var count = 0
    /// The times of the first and the last row.
    private(set) var first: Int64?
    private(set) var last: Int64?

    init(run: any RefinedWriting, range: Range<Int64>) {
        self.run = run
        self.range = range
    }

    /// Writes the rows that are in the time range.
    mutating func write(_ rows: [RefinedRow]) throws {
        let rows = rows.filter { range.contains($0.time) }
        guard let begin = rows.first?.time, let end = rows.last?.time else { return }
        first = first ?? begin
        last = end
        count += rows.count
        try run.write(rows)
        let times = range
        progress.show(RefineProgress.line(end, of: times))
    }
}

enum RefineProgress {
    /// Returns the text: ` 45 %, computed to 2027-01-15T08:00:00Z`.
    /// - Parameters:
    ///   - time: the time of the newest row, in µs since 1970.
    ///   - range: the times of the rows.
    static func line(_ time: Int64, of range: Range<Int64>) -> String {
        percentage(Double(time - range.lowerBound) / Double(range.upperBound - range.lowerBound))
            + ", computed to \(Timestamp(microseconds: time).shown)"
    }
}

/// The samples for a run, with those before and after the time range that influence its results.
struct RefinedInput {
    let reader: StoreReader
    let device: DeviceAddress
    let from: Timestamp?
    let to: Timestamp?

    /// Returns the time range that a run replaces: the given one, or that of the stored samples.
    func times(of stream: SensorStream) throws -> Range<Int64> {
        let first = try from ?? reader.firstTime(of: stream, device, from: nil, to: to)
        let last = try to ?? reader.lastTime(of: stream, device).map { $0 + 1 }
        guard let first, let last, first < last else {
            throw CommandFailure("no samples of '\(stream.name)' of \(device) in this time range")
        }
        return first.microseconds..<last.microseconds
    }

    /// Calls `each` with the samples from `margin` µs before the time range to `margin` µs after it, in order of time.
    func read(_ stream: SensorStream, margin: Int64, each: (Timestamp, [Double]) throws -> Void) throws {
        let (start, end) = times(withMargin: margin)
        try read(stream, from: start, to: end, each: each)
    }

    func read(
        _ stream: SensorStream, from: Timestamp?, to: Timestamp?, each: (Timestamp, [Double]) throws -> Void
    ) throws {
        try reader.run(SampleQuery(device: device, stream: stream, from: from, to: to), cancellation: nil, each: each)
    }

    /// Calls `body` with successive windows from `margin` µs before the time range to `margin` µs after it. Where none of the
    /// streams has samples, there is no window, so that memory use does not grow with the time range.
    func windows(
        of duration: Int64, margin: Int64, begin stream: SensorStream, next streams: [SensorStream],
        _ body: (_ begin: Timestamp, _ limit: Timestamp) throws -> Void
    ) throws {
        let (start, end) = times(withMargin: margin)
        var next = try reader.firstTime(of: stream, device, from: start, to: end)
        while let begin = next {
            let limit = min(begin + duration, end ?? Timestamp(microseconds: .max))
            try body(begin, limit)
            next = try streams.compactMap { try reader.firstTime(of: $0, device, from: limit, to: end) }.min()
        }
    }

    /// Times may be at the ends of their range.
    private func times(withMargin margin: Int64) -> (from: Timestamp?, to: Timestamp?) {
        (
            from.map { Timestamp(microseconds: max($0.microseconds, .min + margin) - margin) },
            to.map { Timestamp(microseconds: min($0.microseconds, .max - margin) + margin) }
        )
    }
}
