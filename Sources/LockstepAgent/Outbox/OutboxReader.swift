import FoundationEssentials
import LockstepModel
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
