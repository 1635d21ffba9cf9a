public import LockstepModel
import LockstepSQLite

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
