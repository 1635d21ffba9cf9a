import LockstepModel

/// Validation rules for batches that are common to all encodings.
enum BatchRules {
    /// The payload version that this program writes, and the newest version that it reads.
    static let version: Int64 = 1

    /// The exclusive upper limit of whole numbers, 2⁵³. Smaller whole numbers are exact as doubles, also in JavaScript.
    static let integerLimit: Int64 = 1 << 53

    /// Checks the size of a payload, in bytes.
    /// - Throws: ``PayloadError`` if the payload is too large.
    static func checkSize(_ bytes: Int, limits: PayloadLimits) throws(PayloadError) {
        guard bytes <= limits.bytes else {
            throw PayloadError("the payload has \(bytes) bytes: the limit is \(limits.bytes)")
        }
    }

    /// Checks the payload version (`v`).
    /// - Throws: ``PayloadError`` if this program does not support it.
    static func checkVersion(_ version: Int64) throws(PayloadError) {
        guard version <= Self.version else {
            throw PayloadError(
                "payload version \(version) is newer than this program supports (\(Self.version)): upgrade this program",
                isRetryable: true)
        }
        guard version >= 1 else { throw PayloadError("'v' is \(version): versions start at 1") }
    }

    /// Returns the position of a batch, or nil if it has none.
    /// - Throws: ``PayloadError`` if `epoch` or `seq` is invalid, or only one of them is present.
    static func position(epoch: String?, seq: Int64?) throws(PayloadError) -> BatchPosition? {
        switch (epoch, seq) {
        case (nil, nil): return nil
        case (let epoch?, let seq?):
            guard seq >= 1 else { throw PayloadError("'seq' is \(seq): batches are numbered from 1") }
            guard seq < integerLimit else { throw PayloadError("'seq' is \(seq): it must be below 2^53") }
            do {
                return BatchPosition(epoch: try Epoch(validating: epoch), seq: seq)
            } catch { throw PayloadError(error.description) }
        default: throw PayloadError("only one of 'epoch' and 'seq' is present: send both or neither")
        }
    }

    /// Checks the number of samples in a batch.
    /// - Throws: ``PayloadError`` if the batch has too many samples.
    static func checkSampleCount(_ count: Int, limits: PayloadLimits) throws(PayloadError) {
        guard count <= limits.samples else {
            throw PayloadError("the batch has \(count) samples: the limit is \(limits.samples)")
        }
    }

    /// Assembles and validates the samples of a batch.
    /// - Parameters:
    ///   - first: the first timestamp (`t`), or nil if it is missing.
    ///   - intervals: returns the intervals between the given number of samples (`dt`), in µs.
    ///   - columns: the values of each column, or nil for a column that is absent.
    static func samples(
        of stream: SensorStream, first: Int64?, intervals: (Int) throws(PayloadError) -> [Int64], columns: [[Double]?]
    ) throws(PayloadError) -> SampleBlock {
        guard let count = columns.lazy.compactMap({ $0?.count }).first, count > 0 else {
            throw PayloadError("the batch has no samples")
        }
        for (column, values) in zip(stream.columns, columns) {
            if let values, values.count != count {
                throw PayloadError(
                    "'\(column.name)' has \(counted(values.count, "value")), but another column has \(count)")
            }
            if let value = column.firstOutside(values?[...] ?? []) {
                throw PayloadError(
                    "'\(column.name)' of \(stream) contains \(value.shortText): it must be \(column.rangeText)")
            }
        }
        guard let first else { throw PayloadError("'t' is missing") }
        return SampleBlock(
            stream: stream,
            times: try times(first: first, intervals: count > 1 ? try intervals(count) : [], count: count),
            columns: columns.map { $0 ?? Array(repeating: .nan, count: count) })
    }

    private static func times(first: Int64, intervals: [Int64], count: Int) throws(PayloadError) -> [Int64] {
        guard intervals.count == count - 1 else {
            let (has, needed) = (counted(intervals.count, "interval"), counted(count, "sample"))
            throw PayloadError("'dt' has \(has) for \(needed): expected \(count - 1)")
        }
        var times = [first]
        times.reserveCapacity(count)
        var last = first
        for interval in intervals {
            guard interval > 0 else { throw PayloadError("'dt' contains \(interval): times must strictly increase") }
            let (time, overflow) = last.addingReportingOverflow(interval)
            guard !overflow else { throw timeTooLarge }
            times.append(time)
            last = time
        }
        guard (0..<integerLimit).contains(first) else {
            throw PayloadError("'t' is \(first): it must be a time in µs since 1970")
        }
        guard last < integerLimit else { throw timeTooLarge }
        return times
    }

    private static let timeTooLarge = PayloadError("'dt' gives a time beyond the largest valid time")

    /// Returns the in-memory value of a number, or of null if `value` is nil.
    @inline(__always)
    static func value(_ value: Double?, of column: SensorStream.Column) throws(PayloadError) -> Double {
        guard let value else {
            guard !column.isRequired else { throw PayloadError("'\(column.name)' contains null") }
            return .nan
        }
        guard value.isFinite else { throw PayloadError("'\(column.name)' contains a value that is not finite") }
        if column.kind == .integer {
            guard value.rounded() == value else {
                throw PayloadError("'\(column.name)' contains \(value), which is not a whole number")
            }
            guard abs(value) < Double(integerLimit) else {
                throw PayloadError("'\(column.name)' contains \(value): its magnitude must be below 2^53")
            }
        }
        return value
    }

    /// Returns the in-memory value of a word: its index in `words`.
    static func value(_ word: String, of column: SensorStream.Column, words: [String]) throws(PayloadError) -> Double {
        guard let index = words.firstIndex(of: word) else {
            throw PayloadError("'\(column.name)' contains '\(word.prefix(40))'; valid words are \(words)")
        }
        return Double(index)
    }
}
