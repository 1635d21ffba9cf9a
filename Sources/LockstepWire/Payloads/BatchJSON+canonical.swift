package import LockstepModel

extension BatchJSON {
    /// Decodes a batch in the canonical form that ``encode(_:)`` and ``markingLate(_:)`` write.
    /// - Returns: nil for any other form, whether it is invalid or valid JSON written differently.
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

/// Decodes batches of one stream in the canonical form that ``BatchJSON/encode(_:)`` and ``BatchJSON/markingLate(_:)``
/// write.
///
/// It allocates no memory per sample, and none per batch if the block has enough capacity.
package struct CanonicalBatchReader: Sendable {
    private let pattern: CanonicalPattern

    /// Creates a reader for batches of `stream`.
    package init(_ stream: SensorStream) { pattern = CanonicalPattern.of(stream) }

    /// Appends the samples of a batch to `samples`, a block of the reader's stream.
    /// - Parameter epoch: the expected epoch of the batch. If it matches, no new string is created.
    /// - Returns: nil for any other form, whether it is invalid or valid JSON written differently. `samples` is then
    ///   unchanged.
    package func read(
        _ payload: UnsafeRawBufferPointer, into samples: inout SampleBlock, limits: PayloadLimits,
        expecting epoch: Epoch? = nil
    ) -> (position: BatchPosition?, isLive: Bool)? {
        guard payload.count <= limits.bytes else { return nil }
        var found: (position: BatchPosition?, isLive: Bool)?
        let isBatch = samples.appending { times, columns in
            var scanner = CanonicalScanner(payload)
            found = scanner.scanBatch(of: pattern, &times, &columns, limit: limits.samples, expecting: epoch)
            return found != nil
        }
        return isBatch ? found : nil
    }
}

/// The intervals between samples (`dt`), in µs.
private enum Steps {
    case none
    case equal(Int64)
    case each([Int64])

    /// The number of samples that the intervals imply, or nil if they fit any number.
    var count: Int? {
        switch self {
        case .none: 1
        case .equal: nil
        case .each(let steps): steps.count + 1
        }
    }

    /// Appends the times of `count` samples. Returns false if the intervals do not match the count, are not positive, or
    /// lead beyond the valid range.
    func addTimes(from first: Int64, count: Int, to times: inout [Int64]) -> Bool {
        guard first >= 0, first < BatchRules.maximumInteger else { return false }
        switch self {
        case .none:
            times.append(first)
            return count == 1
        case .equal(let step):
            let (span, overflow) = step.multipliedReportingOverflow(by: Int64(count - 1))
            guard count > 1, step > 0, !overflow, span < BatchRules.maximumInteger - first else { return false }
            for index in 0..<Int64(count) { times.append(first + index * step) }
            return true
        case .each(let steps):
            guard steps.count == count - 1 else { return false }
            times.append(first)
            var time = first
            for step in steps {
                guard step > 0, step < BatchRules.maximumInteger - time else { return false }
                time += step
                times.append(time)
            }
            return true
        }
    }
}

extension CanonicalScanner {
    /// Scans a batch and appends its samples to `times` and `columns`. If the result is nil, samples may have been
    /// appended in part.
    fileprivate mutating func scanBatch(
        of pattern: CanonicalPattern, _ times: inout [Int64], _ columns: inout [[Double]], limit: Int,
        expecting epoch: Epoch?
    ) -> (position: BatchPosition?, isLive: Bool)? {
        guard scan(byte: "{") else { return nil }
        let isLate = scan(#""live":false,"#)
        guard scan(#""v":1"#) else { return nil }
        var position: BatchPosition?
        if scan(#","epoch":""#) {
            guard let epoch = scanEpoch(expecting: epoch), scan(#","seq":"#), let seq = scanWholeNumber(), seq >= 1,
                seq < BatchRules.maximumInteger
            else { return nil }
            position = BatchPosition(epoch: epoch, seq: seq)
        }
        let isMarkedLate = scan(#","live":false"#)
        guard !(isLate && isMarkedLate), scan(#","t":"#), let first = scanWholeNumber(), let steps = scanSteps(),
            let count = scanColumns(of: pattern, &columns, after: times.count, limit: limit, expected: steps.count),
            scan(byte: "}"), isAtEnd, steps.addTimes(from: first, count: count, to: &times)
        else { return nil }
        return (position, !isLate && !isMarkedLate)
    }

    private mutating func scanEpoch(expecting epoch: Epoch?) -> Epoch? {
        if let epoch {
            let before = self
            if scan(epoch.rawValue), scan(byte: "\"") { return epoch }
            self = before
        }
        return scanRestOfText().flatMap(Epoch.init(rawValue:))
    }

    private mutating func scanSteps() -> Steps? {
        guard scan(#","dt":"#) else { return Steps.none }
        guard scan(byte: "[") else { return scanWholeNumber().map(Steps.equal) }
        var steps: [Int64] = []
        repeat {
            guard let step = scanWholeNumber() else { return nil }
            steps.append(step)
        } while scan(byte: ",")
        return scan(byte: "]") ? .each(steps) : nil
    }

    /// Scans the columns and appends their values.
    /// - Parameter before: the number of samples already in the columns.
    /// - Returns: the number of appended samples.
    private mutating func scanColumns(
        of pattern: CanonicalPattern, _ columns: inout [[Double]], after before: Int, limit: Int, expected: Int?
    ) -> Int? {
        var count: Int?
        for index in pattern.columns.indices {
            let column = pattern.columns[index]
            // Optional columns may be left out.
            guard scan(pattern.names, column.name) else {
                guard !column.isRequired else { return nil }
                continue
            }
            if before == 0 { columns[index].reserveCapacity(count ?? expected ?? 100) }
            guard scanValues(of: column, words: pattern.words, index, into: &columns[index]) else { return nil }
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
                guard scan(byte: "\""), let word = scanRestOfText(), let value = words[index].firstIndex(of: word)
                else {
                    return false
                }
                values.append(Double(value))
            }
        } while scan(byte: ",")
        return scan(byte: "]")
    }
}
