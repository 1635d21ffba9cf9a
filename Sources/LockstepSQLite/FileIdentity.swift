import Glibc

/// Which file a path or a descriptor refers to: the number of its file system and its number there.
///
/// A program that keeps a file open does not notice when the file is removed, renamed or replaced: it writes on, and
/// what it writes cannot be found by the path any more. Compare the identity of the path with that of the open file
/// before you rely on a write. It costs one system call. While a file is open, no other file has its identity.
///
/// Do not open a database of SQLite for this, because closing a descriptor releases all locks that the process has on
/// the file: take the identity of its path right after SQLite has opened it.
public struct FileIdentity: Hashable, Sendable {
    /// The number of the file system (`st_dev`).
    public let device: UInt64
    /// The number of the file in its file system (`st_ino`).
    public let inode: UInt64

    /// Creates the identity of the file at `path`. Symbolic links are followed.
    ///
    /// The result is nil if there is no such file or it cannot be examined. `errno` has the reason.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Creates the identity of an open file, or nil if `descriptor` is not open.
    public init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }
}
