import FoundationEssentials
public import LockstepModel
import LockstepSQLite
import LockstepWire

/// A query of the outbox file of an agent, which may be in use.
struct OutboxReader {
    private let path: String
    let query: SQLiteStatement

    /// - Parameter parameters: the values of the parameters of the query.
    /// - Throws: ``OutboxError``.
    init(path: String, sql: String, parameters: [String] = []) throws(OutboxError) {
        self.path = path
        do {
            let database = try SQLiteDatabase(path: path, mode: .readOnly)
            guard try database.applicationID == Outbox.Owner.agentApplicationID else { throw NotAnOutboxError() }
            query = try database.prepare(sql)
            for (index, value) in parameters.enumerated() { try query.bind(value, at: index + 1) }
        } catch {
            throw OutboxError(path: path, error)
        }
    }

    /// Advances to the next row.
    /// - Returns: whether there is a row.
    /// - Throws: ``OutboxError``, for example for a damaged page.
    func step() throws(OutboxError) -> Bool {
        do { return try query.step() } catch { throw OutboxError(path: path, error) }
    }

    /// Decodes the body of a batch.
    /// - Throws: the reason why it is not a batch.
    func batch(at column: Int, stream: SensorStream) throws -> Batch? {
        guard let body = query.bytes(at: column) else { return nil }
        return try BatchEncoding.decode(Data(body), stream: stream, limits: PayloadLimits(bytes: .max, samples: .max))
    }
}

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

/// Reads all batches that an agent with `--journal` has accepted, from its outbox file.
public enum Journal {
    /// Passes every accepted batch to `body`, in order. The agent may be running.
    /// - Parameters:
    ///   - path: the path of the outbox file.
    ///   - streams: the streams to read. Batches of other streams are skipped.
    /// - Throws: ``OutboxError`` if the file cannot be read, the reason why a batch cannot be decoded, or the error that
    ///   `body` throws.
    public static func read(
        path: String, streams: StreamCatalog = .builtIn, _ body: (Batch) throws -> Void
    ) throws {
        let rows = try OutboxReader(path: path, sql: "SELECT stream, body, epoch, seq FROM journal ORDER BY id")
        while try rows.step() {
            guard let stream = rows.query.text(at: 0).flatMap(streams.stream(named:)),
                var batch = try rows.batch(at: 1, stream: stream)
            else { continue }
            batch.position = BatchPosition(
                epoch: try Epoch(validating: rows.query.text(at: 2) ?? ""), seq: rows.query.int64(at: 3))
            try body(batch)
        }
    }
}
