import Glibc
import LockstepCommandLine

/// A file that appears under its name only when it is complete.
///
/// The bytes go to a hidden file in the same folder, `.NAME.RANDOM.part`, which is synced and then renamed. It is
/// created with the first bytes.
final class ExportFile {
    /// The path as given.
    let path: String
    /// The path after symbolic links, which a rename would replace.
    private let target: String
    private let replaces: Bool
    private let temporary: String
    private var descriptor: Int32 = -1

    /// - Throws: ``CommandFailure`` if the file exists and must not be replaced, or cannot be replaced.
    init(path: String, replaces: Bool) throws {
        self.path = path
        self.replaces = replaces
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw CommandFailure(
                    status.st_mode & S_IFMT == S_IFDIR
                        ? "\(path) is a folder: specify a file in it"
                        : "\(path) is not a regular file: leave out --out, and redirect standard output to it")
            }
            guard replaces else { throw Self.exists(path) }
            target = Self.resolved(path)
        } else {
            target = path
        }
        let parts = Self.split(target)
        guard !parts.name.isEmpty else { throw CommandFailure("'\(path)' is not the path of a file") }
        let random = String(UInt32.random(in: .min ... .max), radix: 36)
        // A file name has at most 255 bytes.
        let prefix = String(decoding: Array(parts.name.utf8.prefix(200)), as: UTF8.self)
        temporary = parts.folder + ".\(prefix).\(random).part"
    }

    func write(_ bytes: [UInt8]) throws {
        if descriptor < 0 {
            descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { throw failure() }
        }
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure() }
            offset += count
        }
    }

    /// Makes the file durable and gives it its name.
    /// - Throws: ``CommandFailure`` if this fails, or if another program has created the file meanwhile.
    func finish() throws {
        // A replaced file keeps its permissions.
        var status = stat()
        if replaces, stat(target, &status) == 0 { _ = fchmod(descriptor, status.st_mode & 0o7777) }
        guard fsync(descriptor) == 0 else { throw failure() }
        if replaces {
            guard rename(temporary, target) == 0 else { throw failure() }
        } else {
            // Unlike rename, link does not replace a file.
            guard link(temporary, target) == 0 || renameOnly() else {
                throw errno == EEXIST ? Self.exists(path) : failure()
            }
            unlink(temporary)
        }
        close(descriptor)
        descriptor = -1
        syncFolder()
    }

    /// Removes the temporary file, if it exists.
    func discard() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
        unlink(temporary)
    }

    /// Renames the file on a file system without hard links, such as FAT.
    private func renameOnly() -> Bool {
        guard errno == EPERM || errno == ENOTSUP, access(target, F_OK) != 0 else { return false }
        return rename(temporary, target) == 0
    }

    private func syncFolder() {
        let folder = Self.split(target).folder
        let descriptor = open(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Returns the folder of a path, with its last slash, and the name in it.
    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return ("", path) }
        return (String(path[...slash]), String(path[path.index(after: slash)...]))
    }

    /// Returns the path after symbolic links.
    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func exists(_ path: String) -> CommandFailure {
        CommandFailure("\(path) exists: use --force to replace it, or another name")
    }

    private func failure() -> CommandFailure {
        let code = errno
        let advice =
            switch code {
            case ENOSPC, EDQUOT: ": free some space, or choose another disk"
            case ENOENT: ": create its folder first"
            case EACCES, EPERM, EROFS: ": choose another folder"
            default: ""
            }
        return CommandFailure("cannot write \(path): \(String(cString: strerror(code)))\(advice)")
    }
}
