import Glibc
import LockstepSQLite

/// The files of an open store, to notice that one was removed, moved or replaced.
///
/// SQLite does not: it writes on to the open file, and after a restart nobody finds what it has written. A check makes two
/// system calls.
struct StoreFiles {
    /// Why a store must not be written.
    enum Loss: Hashable {
        /// There is no file at the path any more, or it cannot be examined.
        case missing(String, systemError: Int32)
        /// Another file is at the path.
        case replaced(String)
        /// The file was truncated.
        case truncated(String)
    }

    private let path: String
    private let logPath: String
    private let database: FileIdentity
    private let log: FileIdentity
    /// The size of the database at the last check, in bytes.
    private var size: Int64

    /// - Parameter path: the path of a database that is open and has a write-ahead log.
    /// - Throws: ``StoreError`` if one of the files is already gone.
    init(path: String) throws(StoreError) {
        self.path = path
        logPath = realPath(path) + "-wal"
        guard let file = FileStatus(path: path) else {
            throw StoreError(.missing, Loss.missing(path, systemError: errno).description)
        }
        guard let log = FileIdentity(path: logPath) else {
            throw StoreError(.missing, Loss.missing(logPath, systemError: errno).description)
        }
        database = file.identity
        size = file.size
        self.log = log
    }

    /// Examines the files.
    /// - Parameter contentSize: returns the size of the whole content in bytes, of which the write-ahead log may have a
    ///   part. It is only called if the file has become smaller.
    /// - Returns: what is wrong, or nil.
    mutating func check(contentSize: () -> Int64) -> Loss? {
        guard let file = FileStatus(path: path) else { return .missing(path, systemError: errno) }
        guard file.identity == database else { return .replaced(path) }
        if file.size < size {
            // A person may have used VACUUM. After it, the file is as long as its content, or nearly.
            guard file.size >= contentSize() / 2 else { return .truncated(path) }
        }
        size = file.size
        guard let log = FileIdentity(path: logPath) else { return .missing(logPath, systemError: errno) }
        return log == self.log ? nil : .replaced(logPath)
    }
}

extension StoreFiles.Loss: CustomStringConvertible {
    /// What happened, and what to do.
    var description: String {
        let advice = "nothing is stored or acknowledged until then"
        switch self {
        case .missing(let file, let systemError) where systemError == ENOENT || systemError == ENOTDIR:
            return
                "\(file) was removed or moved while the collector uses it: move it back, or restart the collector, which "
                + "then continues with what is at that path, or a new store; \(advice)"
        case .missing(let file, let systemError):
            return
                "\(file) cannot be examined (\(String(cString: strerror(systemError)))): correct that; \(advice)"
        case .replaced(let file):
            return
                "another file is at \(file), which the collector does not use: move the first one back, unmount a disk that "
                + "hides it, or restart the collector, which then continues with the other one; what was acknowledged since "
                + "its start is in the first one; \(advice)"
        case .truncated(let file):
            return
                "\(file) was truncated while the collector uses it: stop the collector, and replace the file by a copy; "
                + advice
        }
    }
}
