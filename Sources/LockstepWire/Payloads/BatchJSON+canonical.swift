package import LockstepModel

extension BatchJSON {
    /// Reads a batch in exactly the form that ``encode(_:)`` and ``markingLate(_:)`` give it.
    /// - Returns: nil for everything else, be it wrong or only written differently.
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

/// Reads batches of one stream in exactly the form that ``BatchJSON/encode(_:)`` and ``BatchJSON/markingLate(_:)`` give
/// them, without an allocation a sample, and where there is room without one a batch.
package struct CanonicalBatchReader: Sendable {
    private let pattern: CanonicalPattern

    package init(_ stream: SensorStream) { pattern = CanonicalPattern.of(stream) }

    /// Adds the samples of a batch to `samples`, which are of the reader's stream.
    /// - Parameter epoch: what the batch's epoch probably is: it is then not made anew.
    /// - Returns: nil for every other form, be it wrong or only written differently; nothing is added then.
    package func read(
        _ payload: UnsafeRawBufferPointer, into samples: inout SampleBlock, limits: PayloadLimits,
        expecting epoch: Epoch? = nil
    ) -> (position: BatchPosition?, isLive: Bool)? {
        guard payload.count <= limits.bytes else { return nil }
        var found: (position: BatchPosition?, isLive: Bool)?
        let isBatch = samples.appending { times, columns in
            var scanner = CanonicalScanner(payload)
            found = scanner.takeBatch(of: pattern, &times, &columns, limit: limits.samples, expecting: epoch)
            return found != nil
        }
        return isBatch ? found : nil
    }
}

/// The steps from one sample to the next, in µs.
private enum Steps {
    case none
    case equal(Int64)
    case each([Int64])

    /// How many samples they are for; nil where they don't tell.
    var count: Int? {
        switch self {
        case .none: 1
        case .equal: nil
        case .each(let steps): steps.count + 1
        }
    }

    /// Adds the times; false where the steps don't fit the count, do not increase, or lead out of range.
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
    /// Adds what it finds to times and columns; with nil they are left in the midst of it.
    fileprivate mutating func takeBatch(
        of pattern: CanonicalPattern, _ times: inout [Int64], _ columns: inout [[Double]], limit: Int,
        expecting epoch: Epoch?
    ) -> (position: BatchPosition?, isLive: Bool)? {
        guard take(byte: "{") else { return nil }
        let isLate = take(#""live":false,"#)
        guard take(#""v":1"#) else { return nil }
        var position: BatchPosition?
        if take(#","epoch":""#) {
            guard let epoch = takeEpoch(expecting: epoch), take(#","seq":"#), let seq = takeWholeNumber(), seq >= 1,
                seq < BatchRules.maximumInteger
            else { return nil }
            position = BatchPosition(epoch: epoch, seq: seq)
        }
        let saysLate = take(#","live":false"#)
        guard !(isLate && saysLate), take(#","t":"#), let first = takeWholeNumber(), let steps = takeSteps(),
            let count = takeColumns(of: pattern, &columns, after: times.count, limit: limit, expected: steps.count),
            take(byte: "}"), isAtEnd, steps.addTimes(from: first, count: count, to: &times)
        else { return nil }
        return (position, !isLate && !saysLate)
    }

    private mutating func takeEpoch(expecting epoch: Epoch?) -> Epoch? {
        if let epoch {
            let before = self
            if take(epoch.rawValue), take(byte: "\"") { return epoch }
            self = before
        }
        return takeRestOfText().flatMap(Epoch.init(rawValue:))
    }

    private mutating func takeSteps() -> Steps? {
        guard take(#","dt":"#) else { return Steps.none }
        guard take(byte: "[") else { return takeWholeNumber().map(Steps.equal) }
        var steps: [Int64] = []
        repeat {
            guard let step = takeWholeNumber() else { return nil }
            steps.append(step)
        } while take(byte: ",")
        return take(byte: "]") ? .each(steps) : nil
    }

    /// - Parameter before: how many samples the columns had.
    /// - Returns: how many there are now in addition.
    private mutating func takeColumns(
        of pattern: CanonicalPattern, _ columns: inout [[Double]], after before: Int, limit: Int, expected: Int?
    ) -> Int? {
        var count: Int?
        for index in pattern.columns.indices {
            let column = pattern.columns[index]
            // It may be left out.
            guard take(pattern.names, column.name) else {
                guard !column.isRequired else { return nil }
                continue
            }
            if before == 0 { columns[index].reserveCapacity(count ?? expected ?? 100) }
            guard takeValues(of: column, words: pattern.words, index, into: &columns[index]) else { return nil }
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

    private mutating func takeValues(
        of column: CanonicalPattern.Column, words: [[String]], _ index: Int, into values: inout [Double]
    ) -> Bool {
        repeat {
            if !column.isRequired, take("null") {
                values.append(.nan)
                continue
            }
            switch column.form {
            case .real:
                guard let value = takeNumber() else { return false }
                values.append(value)
            case .integer:
                guard let value = takeNumber(), SensorStream.Kind.integer.takes(value) else { return false }
                values.append(value)
            case .word:
                guard take(byte: "\""), let word = takeRestOfText(), let value = words[index].firstIndex(of: word)
                else {
                    return false
                }
                values.append(Double(value))
            }
        } while take(byte: ",")
        return take(byte: "]")
    }
}
