import Glibc

/// The permissions of a new database, which its `-wal` and `-shm` files get as well.
///
/// SQLite makes files that every user can read, unless the umask forbids it. The samples of a database are private, so a
/// file is readable by its owner only, unless the umask gives rights to the group and none to others. That is a decision,
/// as in the systemd unit of the collector, and no default of a system.
package enum NewFile {
    static func permissions(umask: mode_t) -> mode_t { umask & 0o007 == 0o007 ? 0o640 & ~umask : 0o600 }

    /// Creates an empty file, unless there is one. SQLite reports any error when it opens the file.
    package static func create(_ path: String) {
        guard !path.isEmpty else { return }
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, permissions)
        if descriptor >= 0 { close(descriptor) }
    }

    /// The permissions of a new database in this process.
    static var permissions: mode_t { permissions(umask: umask) }

    /// The umask of the process; 022 if it is unknown. It is not read by setting it, because that would change it for a
    /// moment for other threads.
    private static var umask: mode_t {
        guard let file = fopen("/proc/self/status", "re") else { return 0o022 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("Umask:") {
                return mode_t(text.dropFirst(6).filter { ("0"..."7").contains($0) }, radix: 8) ?? 0o022
            }
        }
        return 0o022
    }
}
