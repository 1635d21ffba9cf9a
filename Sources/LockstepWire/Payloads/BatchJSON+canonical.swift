package import LockstepModel

extension BatchJSON {
    /// Reads a batch in exactly the form that ``encode(_:)`` and ``markingLate(_:)`` give it, without an allocation a
    /// sample.
    /// - Returns: nil for everything else, be it wrong or only written differently.
    package static func decodeCanonical(
        _ payload: UnsafeRawBufferPointer, stream: SensorStream, limits: PayloadLimits
    ) -> Batch? {
        var scanner = CanonicalScanner(payload)
        guard scanner.take(byte: "{") else { return nil }
        let isLate = scanner.take(#""live":false,"#)
        guard scanner.take(#""v":1"#) else { return nil }
        var position: BatchPosition?
        if scanner.take(#","epoch":""#) {
            guard let epoch = scanner.takeRestOfText().flatMap(Epoch.init(rawValue:)), scanner.take(#","seq":"#),
                let seq = scanner.takeWholeNumber(), seq >= 1, seq < BatchRules.maximumInteger
            else { return nil }
            position = BatchPosition(epoch: epoch, seq: seq)
        }
        let saysLate = scanner.take(#","live":false"#)
        guard !(isLate && saysLate), scanner.take(#","t":"#), let first = scanner.takeWholeNumber(),
            let steps = scanner.takeSteps(),
            let columns = scanner.takeColumns(of: stream, limit: limits.samples, expected: steps.count),
            scanner.take(byte: "}"), scanner.isAtEnd, let count = columns.first?.count,
            let times = steps.times(from: first, count: count)
        else { return nil }
        return Batch(
            position: position, isLive: !isLate && !saysLate,
            samples: SampleBlock(stream: stream, times: times, columns: columns))
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

    /// Nil where they don't fit the count, do not increase, or lead out of range.
    func times(from first: Int64, count: Int) -> [Int64]? {
        guard first >= 0, first < BatchRules.maximumInteger else { return nil }
        switch self {
        case .none: return count == 1 ? [first] : nil
        case .equal(let step):
            let (span, overflow) = step.multipliedReportingOverflow(by: Int64(count - 1))
            guard count > 1, step > 0, !overflow, span < BatchRules.maximumInteger - first else { return nil }
            return (0..<Int64(count)).map { first + $0 * step }
        case .each(let steps):
            guard steps.count == count - 1 else { return nil }
            var times = [first]
            times.reserveCapacity(count)
            var time = first
            for step in steps {
                guard step > 0, step < BatchRules.maximumInteger - time else { return nil }
                time += step
                times.append(time)
            }
            return times
        }
    }
}

extension CanonicalScanner {
    fileprivate mutating func takeSteps() -> Steps? {
        guard take(#","dt":"#) else { return Steps.none }
        guard take(byte: "[") else { return takeWholeNumber().map(Steps.equal) }
        var steps: [Int64] = []
        repeat {
            guard let step = takeWholeNumber() else { return nil }
            steps.append(step)
        } while take(byte: ",")
        return take(byte: "]") ? .each(steps) : nil
    }

    fileprivate mutating func takeColumns(of stream: SensorStream, limit: Int, expected: Int?) -> [[Double]]? {
        var columns: [[Double]?] = []
        columns.reserveCapacity(stream.columns.count)
        var count: Int?
        for column in stream.columns {
            let before = self
            guard take(#",""#), take(column.name), take(#"":["#) else {
                guard !column.isRequired else { return nil }
                // It may be left out.
                self = before
                columns.append(nil)
                continue
            }
            guard let values = takeValues(of: column, expected: count ?? expected ?? 100), values.count <= limit,
                count == nil || count == values.count
            else { return nil }
            count = values.count
            columns.append(values)
        }
        guard let count else { return nil }
        return columns.map { $0 ?? Array(repeating: .nan, count: count) }
    }

    private mutating func takeValues(of column: SensorStream.Column, expected: Int) -> [Double]? {
        var values: [Double] = []
        values.reserveCapacity(expected)
        repeat {
            guard let value = takeValue(of: column) else { return nil }
            values.append(value)
        } while take(byte: ",")
        return take(byte: "]") ? values : nil
    }

    private mutating func takeValue(of column: SensorStream.Column) -> Double? {
        if !column.isRequired, take("null") { return .nan }
        guard case .choice(let words) = column.kind else {
            return takeNumber().flatMap { column.kind.takes($0) ? $0 : nil }
        }
        guard take(byte: "\""), let word = takeRestOfText() else { return nil }
        return words.firstIndex(of: word).map(Double.init)
    }
}
