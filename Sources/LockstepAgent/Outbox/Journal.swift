import FoundationEssentials
public import LockstepModel
import LockstepSQLite
import LockstepWire

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
        let rows = try OutboxReader(path: path, sql: "SELECT stream, payload FROM journal ORDER BY id")
        while try rows.step() {
            guard let stream = rows.query.text(at: 0).flatMap(streams.stream(named:)),
                let payload = rows.query.bytes(at: 1)
            else { continue }
            try body(
                try BatchEncoding.decode(
                    Data(payload), stream: stream, limits: PayloadLimits(bytes: .max, samples: .max)))
        }
    }
}
