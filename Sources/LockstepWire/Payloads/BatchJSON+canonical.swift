package import LockstepModel

extension BatchJSON {
    /// Decodes a batch in the canonical form that ``encode(_:)`` writes.
    /// - Returns: nil for any other form, which may be invalid or valid JSON.
    package static func decodeCanonical(
        _ payload: UnsafeRawBufferPointer, stream: SensorStream, limits: PayloadLimits
    ) -> Batch? {
        var samples = SampleBlock(stream: stream)
        guard let (position, isLive) = CanonicalBatchReader(stream).read(payload, into: &samples, limits: limits) else {
            return nil
        }
        return Batch(position: position, isLive: isLive, samples: samples)
    }
}

/// A decoder for batches of one stream in the canonical form that ``BatchJSON/encode(_:)`` writes.
///
/// It allocates no memory per sample, and none per batch if the block has enough capacity.
package struct CanonicalBatchReader: Sendable {
    private let pattern: CanonicalPattern

    /// Creates a reader for batches of `stream`.
    package init(_ stream: SensorStream) { pattern = CanonicalPattern.of(stream) }

    /// Appends the samples of a batch to `samples`, a block of the reader's stream.
    /// - Parameter epoch: the expected epoch of the batch. If it matches, no string is allocated for the epoch.
    /// - Returns: nil for any other form, which may be invalid or valid JSON. `samples` is then unchanged.
    package func read(
        _ payload: UnsafeRawBufferPointer, into samples: inout SampleBlock, limits: PayloadLimits,
        expecting epoch: Epoch? = nil
    ) -> (position: BatchPosition?, isLive: Bool)? {
        guard payload.count <= limits.bytes else { return nil }
        var found: (position: BatchPosition?, isLive: Bool)?
        let isBatch = samples.appendInPlace { times, columns in
            var scanner = CanonicalScanner(payload)
            found = scanner.scanBatch(of: pattern, &times, &columns, limit: limits.samples, expecting: epoch)
            return found != nil
        }
        return isBatch ? found : nil
    }
}

/// The intervals between samples (`dt`), in µs.
private enum Intervals {
    /// No `dt`: the batch has a single sample.
    case none
    /// All intervals are equal.
    case equal(Int64)
    /// One interval per pair of consecutive samples.
    case each([Int64])

    /// The number of samples, or nil if it cannot be derived from the intervals.
    var count: Int? {
        switch self {
        case .none: 1
        case .equal: nil
        case .each(let intervals): intervals.count + 1
        }
    }

    /// Appends the times of `count` samples. Returns false if the intervals do not match the count, are not positive,
    /// or give a time outside the valid range.
    func addTimes(from first: Int64, count: Int, to times: inout [Int64]) -> Bool {
        guard first >= 0, first < BatchRules.integerLimit else { return false }
        switch self {
        case .none:
            times.append(first)
            return count == 1
        case .equal(let interval):
            let (span, overflow) = interval.multipliedReportingOverflow(by: Int64(count - 1))
            guard count > 1, interval > 0, !overflow, span < BatchRules.integerLimit - first else { return false }
            for index in 0..<Int64(count) { times.append(first + index * interval) }
            return true
        case .each(let intervals):
            guard intervals.count == count - 1 else { return false }
            times.append(first)
            var time = first
            for interval in intervals {
                guard interval > 0, interval < BatchRules.integerLimit - time else { return false }
                time += interval
                times.append(time)
            }
            return true
        }
    }
}

extension CanonicalScanner {
    /// Scans a batch and appends its samples to `times` and `columns`. If the result is nil, some values may have been
    /// appended.
    fileprivate mutating func scanBatch(
        of pattern: CanonicalPattern, _ times: inout [Int64], _ columns: inout [[Double]], limit: Int,
        expecting epoch: Epoch?
    ) -> (position: BatchPosition?, isLive: Bool)? {
        guard scan(byte: "{") else { return nil }
        guard scan(#""v":1"#) else { return nil }
        var position: BatchPosition?
        if scan(#","epoch":""#) {
            guard let epoch = scanEpoch(expecting: epoch), scan(#","seq":"#), let seq = scanWholeNumber(), seq >= 1,
                seq < BatchRules.integerLimit
            else { return nil }
            position = BatchPosition(epoch: epoch, seq: seq)
        }
        let isLate = scan(#","live":false"#)
        guard scan(#","t":"#), let first = scanWholeNumber(),
            let intervals = scanIntervals(),
            let count = scanColumns(of: pattern, &columns, after: times.count, limit: limit, expected: intervals.count),
            scan(byte: "}"), isAtEnd, intervals.addTimes(from: first, count: count, to: &times)
        else { return nil }
        return (position, !isLate)
    }

    private mutating func scanEpoch(expecting epoch: Epoch?) -> Epoch? {
        if let epoch {
            let before = self
            if scan(epoch.rawValue), scan(byte: "\"") { return epoch }
            self = before
        }
        return scanRestOfString().flatMap(Epoch.init(rawValue:))
    }

    private mutating func scanIntervals() -> Intervals? {
        guard scan(#","dt":"#) else { return Intervals.none }
        guard scan(byte: "[") else { return scanWholeNumber().map(Intervals.equal) }
        var intervals: [Int64] = []
        repeat {
            guard let interval = scanWholeNumber() else { return nil }
            intervals.append(interval)
        } while scan(byte: ",")
        return scan(byte: "]") ? .each(intervals) : nil
    }

    /// Scans the columns and appends their values.
    /// - Parameters:
    ///   - before: the number of samples already in the columns.
    ///   - limit: the maximum number of appended samples.
    ///   - expected: the number of appended samples, if known. Memory is reserved for it.
    /// - Returns: the number of appended samples.
    private mutating func scanColumns(
        of pattern: CanonicalPattern, _ columns: inout [[Double]], after before: Int, limit: Int, expected: Int?
    ) -> Int? {
        var count: Int?
        for index in pattern.columns.indices {
            let column = pattern.columns[index]
            // Optional columns may be absent.
            guard scan(pattern.prefixes, column.prefix) else {
                guard !column.isRequired else { return nil }
                continue
            }
            if before == 0 { columns[index].reserveCapacity(count ?? expected ?? 100) }
            guard scanValues(of: column, words: pattern.words, index, into: &columns[index]) else { return nil }
            if let range = column.range,
                columns[index][before...].contains(where: { !range.contains($0) && !$0.isNaN })
            {
                return nil
            }
            let added = columns[index].count - before
            guard added <= limit, count == nil || count == added else { return nil }
            count = added
        }
        guard let count else { return nil }
        for index in columns.indices where columns[index].count == before {
            columns[index] += repeatElement(.nan, count: count)
        }
        return count
    }

    private mutating func scanValues(
        of column: CanonicalPattern.Column, words: [[String]], _ index: Int, into values: inout [Double]
    ) -> Bool {
        repeat {
            if !column.isRequired, scan("null") {
                values.append(.nan)
                continue
            }
            switch column.form {
            case .real:
                guard let value = scanNumber() else { return false }
                values.append(value)
            case .integer:
                guard let value = scanNumber(), SensorStream.Kind.integer.accepts(value) else { return false }
                values.append(value)
            case .word:
                guard scan(byte: "\""), let word = scanRestOfString(), let value = words[index].firstIndex(of: word)
                else {
                    return false
                }
                values.append(Double(value))
            }
        } while scan(byte: ",")
        return scan(byte: "]")
    }
}
