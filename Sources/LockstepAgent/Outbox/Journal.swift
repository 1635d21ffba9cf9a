import FoundationEssentials
public import LockstepModel
import LockstepSQLite
import LockstepWire

/// Reads all batches that an agent with `--journal` has accepted, from its outbox file.
public enum Journal {
    /// Passes every accepted batch to `body`, in order. The agent may be running.
    /// - Parameter streams: the streams to read. Batches of other streams are skipped.
    /// - Throws: ``OutboxError``, or the error that `body` throws.
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
