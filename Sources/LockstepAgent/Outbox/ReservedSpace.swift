import Glibc

/// A file that holds some room on the disk: on a full disk it goes, and what takes room away can be deleted.
///
/// An SQLite file in WAL mode needs room even to delete something.
struct ReservedSpace {
    private static let most: Int64 = 4 << 20
    private static let least: Int64 = 64 << 10

    let path: String
    /// Bytes; 0 where the disk had no room for it from the start.
    let size: Int64

    /// Takes up to 4 MiB, and an eighth of what is free at the most.
    init(path: String) {
        self.path = path
        var status = stat()
        if stat(path, &status) == 0, status.st_size >= Self.least {
            size = Int64(status.st_size)
            return
        }
        let wanted = min(Self.most, Self.free(beside: path) / 8)
        size = wanted < Self.least ? 0 : wanted
        restore()
    }

    /// Whether the disk has room beyond that of the ballast, which is not there now.
    var diskHasRoom: Bool { Self.free(beside: path) >= 2 * max(size, Self.least) }

    /// Bytes free on the disk of a file.
    private static func free(beside path: String) -> Int64 {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var room = statvfs()
        guard statvfs(folder, &room) == 0 else { return 0 }
        let bytes = UInt64(room.f_bavail).multipliedReportingOverflow(by: UInt64(room.f_frsize))
        return bytes.overflow ? .max : Int64(clamping: bytes.partialValue)
    }

    /// Gives the room back to the disk.
    func remove() { unlink(path) }

    /// Takes the room again, or what there is of it.
    func restore() {
        var status = stat()
        guard size > 0, stat(path, &status) != 0 else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let wanted = min(size, Self.free(beside: path))
        if wanted < 4096 || posix_fallocate(descriptor, 0, off_t(wanted)) != 0 { unlink(path) }
    }
}
