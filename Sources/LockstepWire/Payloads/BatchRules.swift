import LockstepModel

/// What holds for a batch in every encoding.
enum BatchRules {
    /// The version of the payload that this program writes, and the newest that it reads.
    static let version: Int64 = 1

    /// Whole numbers stay exact in a double, and so in JavaScript, below this one: 2⁵³.
    static let maximumInteger: Int64 = 1 << 53

    static func checkSize(_ bytes: Int, limits: PayloadLimits) throws(PayloadError) {
        guard bytes <= limits.bytes else {
            throw PayloadError("\(bytes) bytes: a payload has at most \(limits.bytes)")
        }
    }

    static func checkVersion(_ version: Int64) throws(PayloadError) {
        guard version <= Self.version else {
            throw PayloadError(
                "payload version \(version) is newer than this program knows (\(Self.version)): upgrade it",
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

    /// Puts the batch together.
    /// - Parameters:
    ///   - columns: nil for a column without any known value.
    ///   - steps: between the samples, in µs.
    static func samples(
        of stream: SensorStream, first: Int64?, steps: (Int) throws(PayloadError) -> [Int64], columns: [[Double]?]
    ) throws(PayloadError) -> SampleBlock {
        guard let count = columns.lazy.compactMap({ $0?.count }).first, count > 0 else {
            throw PayloadError("there is no sample in it")
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
            throw PayloadError("'dt' has \(steps.count) steps for \(count) samples: it takes \(count - 1)")
        }
        var times = [first]
        times.reserveCapacity(count)
        var last = first
        for step in steps {
            guard step > 0 else { throw PayloadError("'dt' has \(step): times must strictly increase") }
            let (time, overflow) = last.addingReportingOverflow(step)
            guard !overflow else { throw PayloadError("'dt' leads beyond the end of time") }
            times.append(time)
            last = time
        }
        guard first >= 0, last < maximumInteger else {
            throw PayloadError("'t' is \(first): it counts µs since 1970")
        }
        return times
    }

    /// The value in memory of one that is on the wire; nil there is null.
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

    /// The value in memory of a word.
    static func value(_ word: String, of column: SensorStream.Column, words: [String]) throws(PayloadError) -> Double {
        guard let index = words.firstIndex(of: word) else {
            throw PayloadError("'\(column.name)' has '\(word.prefix(40))': known are \(words)")
        }
        return Double(index)
    }
}
