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
    /// - Throws: ``OutboxError`` if the file cannot be opened, the reason why a batch cannot be read, or the error that
    ///   `body` throws.
    public static func read(
        path: String, streams: StreamCatalog = .builtIn, _ body: (Batch) throws -> Void
    ) throws {
        let query: SQLiteStatement
        do {
            let database = try SQLiteDatabase(path: path, mode: .readOnly)
            query = try database.prepare("SELECT stream, payload FROM journal ORDER BY id")
        } catch {
            throw OutboxError(path: path, error)
        }
        while try query.step() {
            guard let stream = query.text(at: 0).flatMap(streams.stream(named:)), let payload = query.bytes(at: 1)
            else { continue }
            try body(
                try BatchEncoding.decode(
                    Data(payload), stream: stream, limits: PayloadLimits(bytes: .max, samples: .max)))
        }
    }
}
