/// A source of past samples of one device, such as a store or an outbox.
public protocol SampleHistory: Sendable {
    /// Returns the samples of `stream` from `from` to `to`, both inclusive, in order of time.
    /// - Throws: an error of the underlying storage if the samples cannot be read.
    func samples(of stream: SensorStream, from: Timestamp, to: Timestamp) throws -> SampleBlock
}
