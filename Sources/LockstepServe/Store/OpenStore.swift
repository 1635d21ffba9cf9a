import Glibc
import LockstepHTTP
import LockstepStore

/// A reader of the store, used by one thread at a time, with the identity of its file.
final class OpenStore {
    private let path: String
    private let reader: StoreReader
    private let file: FileIdentity?
    /// The error of a read that has failed, or nil.
    private(set) var failure: String?

    private struct FileIdentity: Equatable {
        let device: UInt
        let inode: UInt

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
        }
    }

    init(path: String) throws {
        self.path = path
        file = FileIdentity(path)
        reader = try StoreReader(path: path)
    }

    /// Whether the path still names the opened file.
    var isCurrent: Bool { FileIdentity(path) == file }

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
