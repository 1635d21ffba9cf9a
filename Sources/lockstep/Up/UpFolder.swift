import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepSQLite

/// The folder of `lockstep up`, locked for this process.
final class UpFolder {
    /// The absolute path.
    let path: String
    private let isTemporary: Bool
    private let lock: FileLock

    /// Creates the folder if it does not exist, and locks it.
    /// - Parameters:
    ///   - path: the folder; nil for the default, or a temporary one.
    ///   - isTemporary: whether to create a new folder that is removed at the end.
    /// - Throws: ``CommandFailure``.
    init(_ path: String?, isTemporary: Bool) throws {
        self.isTemporary = isTemporary
        if isTemporary {
            Self.removeAbandoned()
            var name = Array((Self.temporaryPrefix + "XXXXXX").utf8CString)
            guard mkdtemp(&name) != nil else {
                throw CommandFailure("cannot create a temporary folder: \(String(cString: strerror(errno)))")
            }
            self.path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        } else {
            let chosen = try path ?? UpPlan.defaultFolder(ProcessInfo.processInfo.environment)
            try Self.create(chosen)
            guard let real = realpath(chosen, nil) else {
                throw CommandFailure("cannot use the folder \(chosen): \(String(cString: strerror(errno)))")
            }
            defer { free(real) }
            self.path = String(cString: real)
        }
        do { lock = try FileLock(path: self.path + "/up") } catch {
            if case .held(_, let holder) = error {
                let process = holder.map { " (process \($0))" } ?? ""
                throw CommandFailure(
                    "'lockstep up' is running with the folder \(self.path) already\(process): stop it, or use another "
                        + "--folder")
            }
            throw CommandFailure("\(error)")
        }
        // A folder that was named may be an earlier temporary one, and stays from now on.
        _ = lock.setNote(isTemporary ? Self.temporaryNote : "")
    }

    /// The path if the folder stays.
    var keptPath: String? { isTemporary ? nil : path }

    /// Creates a folder in this one, and returns its path.
    func subfolder(_ name: String) throws -> String {
        try Self.create(path + "/" + name)
        return path + "/" + name
    }

    func removeIfTemporary() { if isTemporary { try? FileManager.default.removeItem(atPath: path) } }

    static var userName: String { getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "root" }

    private static var temporaryPrefix: String {
        (ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp") + "/lockstep-up-"
    }

    /// What the lock of a temporary folder says. A user may give any name to a folder.
    private static let temporaryNote = "temporary"

    /// Removes the temporary folders of commands that were killed: nobody holds their lock.
    private static func removeAbandoned() {
        let prefix = temporaryPrefix
        let parent = String(prefix[..<(prefix.lastIndex(of: "/") ?? prefix.startIndex)])
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
            let folder = parent + "/" + name
            var status = stat()
            guard folder.hasPrefix(prefix), lstat(folder, &status) == 0, status.st_uid == geteuid(),
                access(folder + "/up.lock", F_OK) == 0, let lock = try? FileLock(path: folder + "/up"),
                lock.note == temporaryNote
            else { continue }
            try? FileManager.default.removeItem(atPath: folder)
            withExtendedLifetime(lock) {}
        }
    }

    private static func create(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(
                "cannot create the folder \(path): \(String(cString: strerror(errno))): name another one with --folder")
        }
    }
}
