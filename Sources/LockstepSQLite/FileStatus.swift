import Glibc

/// What a path refers to at present: which file, and how long it is.
public struct FileStatus: Hashable, Sendable {
    /// Which file it is.
    public let identity: FileIdentity
    /// The size in bytes.
    public let size: Int64

    /// Examines the file at `path`. Symbolic links are followed.
    ///
    /// The result is nil if there is no such file or it cannot be examined. `errno` has the reason.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        identity = FileIdentity(status)
        size = Int64(status.st_size)
    }
}

/// Returns the path of a file without symbolic links, or the given path if the file does not exist.
///
/// SQLite and ``FileLock`` have their files beside the file itself, and not beside a link to it.
package func realPath(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
}
