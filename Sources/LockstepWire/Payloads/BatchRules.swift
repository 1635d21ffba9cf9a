import LockstepModel

/// Validation rules for batches that are common to all encodings.
enum BatchRules {
    /// The payload version that this program writes, and the newest version that it reads.
    static let version: Int64 = 1

    /// The exclusive upper limit of whole numbers, 2⁵³: below it they are exact as doubles, and so in JavaScript.
    static let maximumInteger: Int64 = 1 << 53

    static func checkSize(_ bytes: Int, limits: PayloadLimits) throws(PayloadError) {
        guard bytes <= limits.bytes else {
            throw PayloadError("\(bytes) bytes: a payload has at most \(limits.bytes)")
        }
    }

    static func checkVersion(_ version: Int64) throws(PayloadError) {
        guard version <= Self.version else {
            throw PayloadError(
                "payload version \(version) is newer than this program supports (\(Self.version)): upgrade this program",
                isRetryable: true)
        }
        guard version >= 1 else { throw PayloadError("'v' is \(version): versions start at 1") }
    }

    static func position(epoch: String?, seq: Int64?) throws(PayloadError) -> BatchPosition? {
        switch (epoch, seq) {
        case (nil, nil): return nil
        case (let epoch?, let seq?):
            guard seq >= 1 else { throw PayloadError("'seq' is \(seq): batches are numbered from 1") }
            guard seq < maximumInteger else { throw PayloadError("'seq' is too large") }
            do {
                return BatchPosition(epoch: try Epoch(validating: epoch), seq: seq)
            } catch { throw PayloadError(error.description) }
        default: throw PayloadError("'epoch' and 'seq' go together: send both or neither")
        }
    }

    static func checkSampleCount(_ count: Int, limits: PayloadLimits) throws(PayloadError) {
        guard count <= limits.samples else {
            throw PayloadError("\(count) samples: a batch has at most \(limits.samples)")
        }
    }

    /// Assembles and validates the samples of a batch.
    /// - Parameters:
    ///   - first: the first timestamp (`t`), or nil if it is missing.
    ///   - steps: returns the intervals between the given number of samples (`dt`), in µs.
    ///   - columns: the values of each column, or nil for a column that is left out.
    static func samples(
        of stream: SensorStream, first: Int64?, steps: (Int) throws(PayloadError) -> [Int64], columns: [[Double]?]
    ) throws(PayloadError) -> SampleBlock {
        guard let count = columns.lazy.compactMap({ $0?.count }).first, count > 0 else {
            throw PayloadError("the batch has no samples")
        }
        for (column, values) in zip(stream.columns, columns) {
            if let values, values.count != count {
                throw PayloadError("'\(column.name)' has \(values.count) values where another column has \(count)")
            }
        }
        guard let first else { throw PayloadError("'t' is missing") }
        return SampleBlock(
            stream: stream, times: try times(first: first, steps: count > 1 ? try steps(count) : [], count: count),
            columns: columns.map { $0 ?? Array(repeating: .nan, count: count) })
    }

    private static func times(first: Int64, steps: [Int64], count: Int) throws(PayloadError) -> [Int64] {
        guard steps.count == count - 1 else {
            throw PayloadError("'dt' has \(steps.count) intervals for \(count) samples: expected \(count - 1)")
        }
        var times = [first]
        times.reserveCapacity(count)
        var last = first
        for step in steps {
            guard step > 0 else { throw PayloadError("'dt' has \(step): times must strictly increase") }
            let (time, overflow) = last.addingReportingOverflow(step)
            guard !overflow else { throw PayloadError("'dt' leads beyond the largest valid time") }
            times.append(time)
            last = time
        }
        guard first >= 0, last < maximumInteger else {
            throw PayloadError("'t' is \(first): it must be a time in µs since 1970")
        }
        return times
    }

    /// Returns the in-memory value of a number, or of null if `value` is nil.
    @inline(__always)
    static func value(_ value: Double?, of column: SensorStream.Column) throws(PayloadError) -> Double {
        guard let value else {
            guard !column.isRequired else { throw PayloadError("'\(column.name)' has a null") }
            return .nan
        }
        guard value.isFinite else { throw PayloadError("'\(column.name)' has a value that is not finite") }
        if column.kind == .integer, value.rounded() != value || abs(value) >= Double(maximumInteger) {
            throw PayloadError("'\(column.name)' has \(value), which is not a whole number")
        }
        return value
    }

    /// Returns the in-memory value of a word: its index in `words`.
    static func value(_ word: String, of column: SensorStream.Column, words: [String]) throws(PayloadError) -> Double {
        guard let index = words.firstIndex(of: word) else {
            throw PayloadError("'\(column.name)' has '\(word.prefix(40))'; valid words are \(words)")
        }
        return Double(index)
    }
}
