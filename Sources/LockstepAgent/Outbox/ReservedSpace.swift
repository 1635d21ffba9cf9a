import Glibc

/// A file that reserves disk space. On a full disk it is deleted, so that SQLite has space to delete batches: in WAL
/// mode even a deletion needs space.
struct ReservedSpace {
    private static let minSize: Int64 = 64 << 10

    let path: String
    /// The size in bytes, or 0 if the disk had no space for the file at the start.
    let size: Int64

    /// Reserves up to `maxSize` bytes, and at most an eighth of the free space. An existing file is kept, and may grow.
    init(path: String, maxSize: Int64) {
        self.path = path
        let reserved = Self.fileSize(path) ?? 0
        let wanted = max(reserved, min(maxSize, (Self.free(beside: path) + reserved) / 8))
        size = wanted < Self.minSize ? 0 : wanted
        restore()
    }

    /// Releases what an earlier run has reserved, if the disk has no space even to open the outbox.
    static func releaseIfFull(_ path: String) {
        if free(beside: path) < minSize { unlink(path) }
    }

    /// Whether the disk has more free space than the file needs. Only meaningful while the file is deleted.
    var hasDiskSpace: Bool { Self.free(beside: path) >= 2 * max(size, Self.minSize) }

    /// Returns the free space on the file's disk, in bytes.
    private static func free(beside path: String) -> Int64 {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return 0 }
        let bytes = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return bytes.overflow ? .max : Int64(clamping: bytes.partialValue)
    }

    /// Releases the reserved space.
    func remove() { unlink(path) }

    /// Reserves the space again, or as much as is free. The missing part is reserved by a later call.
    func restore() {
        let reserved = Self.fileSize(path)
        guard size > reserved ?? 0 else { return }
        let wanted = min(size, (reserved ?? 0) + Self.free(beside: path))
        guard wanted > reserved ?? 0 else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let isReserved = wanted >= 4096 && posix_fallocate(descriptor, 0, off_t(wanted)) == 0
        if !isReserved, reserved == nil { unlink(path) }
    }

    private static func fileSize(_ path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }
}
