import Glibc
import LockstepClickHouse
import LockstepHTTP
import LockstepStore

/// A reader of the store, used by one thread at a time, with the identity of its file, if it is a file.
final class OpenStore {
    private let address: StoreAddress
    private let reader: any StoreReading
    private let file: FileIdentity?
    /// The error of a read that has failed, or nil.
    private(set) var failure: String?

    private struct FileIdentity: Equatable {
        let device: UInt
        let inode: UInt

        init?(_ address: StoreAddress) {
            var status = stat()
            guard case .sqlite(let path) = address, stat(path, &status) == 0 else { return nil }
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
        }
    }

    /// The maximum duration of a request to a database server, in ms.
    private static let timeout = 60_000

    init(_ address: StoreAddress) throws {
        self.address = address
        file = FileIdentity(address)
        reader = try address.reader(timeout: Self.timeout)
    }

    /// Whether the address still names the opened store.
    var isCurrent: Bool { FileIdentity(address) == file }

    /// Reads the store.
    /// - Throws: ``Problem`` if that fails, `CancellationError` if it was cancelled, or another error of `body`.
    func read<Value>(_ body: (any StoreReading) throws -> Value) throws -> Value {
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
