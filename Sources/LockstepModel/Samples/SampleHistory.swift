/// Samples of one device's past.
public protocol SampleHistory: Sendable {
    /// The samples of a stream from `from` to `to`, both included, in the order of their time.
    /// - Throws: what kept them from being read.
    func samples(of stream: SensorStream, from: Timestamp, to: Timestamp) throws -> SampleBlock
}
