public import LockstepModel

/// The past samples of a device, read from its outbox: the unacknowledged samples, or all samples if the agent runs
/// with `--journal`. The agent may be running.
public struct OutboxHistory: SampleHistory {
    /// The path of the outbox file.
    public let path: String

    /// Creates a history that reads the outbox at `path` for each query.
    public init(path: String) { self.path = path }

    /// Returns the samples of a stream in a time range, both ends included.
    /// - Throws: ``OutboxError`` if the file cannot be read, or the reason why a batch cannot be decoded.
    public func samples(of stream: SensorStream, from: Timestamp, to: Timestamp) throws -> SampleBlock {
        var found: [Int64: [Double]] = [:]
        let rows = try OutboxReader(
            path: path,
            sql: "SELECT body FROM batches WHERE stream = ? UNION SELECT body FROM journal WHERE stream = ?",
            parameters: [stream.name, stream.name])
        while try rows.step() {
            guard let batch = try rows.batch(at: 0, stream: stream) else { continue }
            for (index, time) in batch.samples.times.enumerated()
            where time >= from.microseconds && time <= to.microseconds {
                found[time] = batch.samples.values(at: index)
            }
        }
        var block = SampleBlock(stream: stream)
        for (time, values) in found.sorted(by: { $0.key < $1.key }) {
            block.append(time: Timestamp(microseconds: time), values: values)
        }
        return block
    }
}
