import LockstepClickHouse
import LockstepHTTP
import LockstepSQLite
import LockstepStore

/// A reader of the store, used by one thread at a time, with the identity of its file, if it is a file.
final class OpenStore {
    private let address: StoreAddress
    private let reader: StoreReader
    private let file: FileIdentity?
    /// The error of a read that has failed, or nil.
    private(set) var failure: String?

    /// The maximum duration of a request to a database server, in ms.
    private static let timeout = 60_000

    init(_ address: StoreAddress) throws {
        self.address = address
        file = Self.identity(of: address)
        reader = try address.reader(timeout: Self.timeout)
    }

    /// Whether the address still names the opened store.
    var isCurrent: Bool { Self.identity(of: address) == file }

    private static func identity(of address: StoreAddress) -> FileIdentity? {
        if case .sqlite(let path) = address { FileIdentity(path: path) } else { nil }
    }

    /// Reads the store.
    /// - Throws: ``Problem`` if that fails, `CancellationError` if it was cancelled, or another error of `body`.
    func read<Value>(_ body: (StoreReader) throws -> Value) throws -> Value {
        do { return try body(reader) } catch let error as StoreError {
            if error.code != .cancelled { failure = "\(error)" }
            throw Self.problem(error)
        }
    }

    /// Returns the error for the client.
    static func problem(_ error: any Error) -> any Error {
        guard let error = error as? StoreError else { return error }
        return error.code == .cancelled
            ? CancellationError() : Problem.unavailable("the store cannot be read: \(error)")
    }
}
