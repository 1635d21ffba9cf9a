public import LockstepModel

/// Converts readings to samples of the streams that the gateway knows.
public struct SampleFitter: Sendable {
    /// The streams of the gateway.
    public let catalog: StreamCatalog
    /// The maximum time that a sample may be in the future, in µs.
    public let maxFuture: Int64

    /// Creates a fitter.
    public init(catalog: StreamCatalog = .builtIn, maxFuture: Int64 = 43_200_000_000) {
        self.catalog = catalog
        self.maxFuture = maxFuture
    }

    /// One sample of a stream.
    public struct Sample: Sendable, Equatable {
        /// The stream.
        public let stream: SensorStream
        /// The time of the sample.
        public let time: Timestamp
        /// One value for each column; NaN is null.
        public let values: [Double]
        /// The values that were left out because they are invalid. Their columns are null.
        public var omissions: [String] = []
    }

    /// Returns the sample of a reading.
    /// - Parameter now: the current time.
    /// - Returns: nil if the gateway does not know the stream.
    /// - Throws: ``Refusal`` if the time is not plausible, a required value is missing, invalid or out of range, or all values
    ///   are invalid.
    public func sample(_ reading: Reading, at now: Timestamp) throws(Refusal) -> Sample? {
        guard let stream = catalog.stream(ofChannel: reading.stream) else { return nil }
        try checkTime(reading.time, of: stream, at: now)
        var values = Array(repeating: Double.nan, count: stream.columns.count)
        var omissions: [String] = []
        for (name, value) in reading.values {
            guard let index = stream.columns.firstIndex(where: { $0.name == name }) else { continue }
            let column = stream.columns[index]
            do throws(Refusal) { values[index] = try Self.number(value, column, of: stream) } catch {
                // One invalid value must not cost the others. But half a position is none.
                let isPosition = stream == .location && ["lat", "lon"].contains(name)
                guard !column.isRequired, !isPosition else { throw error }
                omissions.append(error.description)
            }
        }
        // Some senders write north as 360°.
        for (index, column) in stream.columns.enumerated() where values[index] == 360 && Self.isDirection(column) {
            values[index] = 0
        }
        for (column, value) in zip(stream.columns, values) where column.isRequired && value.isNaN {
            throw Refusal(.malformed, "'\(column.name)' of \(stream) is missing")
        }
        if let first = omissions.first, values.allSatisfy(\.isNaN) { throw Refusal(.malformed, first) }
        return Sample(
            stream: stream, time: Timestamp(microseconds: reading.time), values: values, omissions: omissions)
    }

    private static func isDirection(_ column: SensorStream.Column) -> Bool {
        column.unit == "°" && ["course", "magnetic", "true_north"].contains(column.name)
    }

    /// - Throws: ``Refusal`` if the column cannot have this value.
    static func number(
        _ value: Reading.Value, _ column: SensorStream.Column, of stream: SensorStream
    ) throws(Refusal) -> Double {
        guard let number = number(value, column.kind) else {
            throw Refusal(.malformed, "'\(column.name)' of \(stream) has an invalid value")
        }
        guard column.accepts(number) else {
            throw Refusal(
                .malformed, "'\(column.name)' of \(stream) is \(number.shortText): it must be \(column.rangeText)")
        }
        return number
    }

    /// - Throws: ``Refusal`` if it is before 1970 or too far in the future.
    func checkTime(_ time: Int64, of stream: SensorStream, at now: Timestamp) throws(Refusal) {
        guard time > 0, time < 1 << 53 else {
            throw Refusal(.implausibleTime, "the time \(time) µs of \(stream) is out of range")
        }
        guard time - now.microseconds <= maxFuture else {
            throw Refusal(
                .implausibleTime,
                "sample time \(Timestamp(microseconds: time)) is in the future of the gateway's clock, which shows \(now): "
                    + "check the clock of the device")
        }
    }

    private static func number(_ value: Reading.Value, _ kind: SensorStream.Kind) -> Double? {
        switch (value, kind) {
        case (.number(let number), .real), (.number(let number), .integer): kind.accepts(number) ? number : nil
        case (.word(let word), .choice(let words)): words.firstIndex(of: word).map(Double.init)
        case (.number, .choice), (.word, .real), (.word, .integer): nil
        }
    }
}
