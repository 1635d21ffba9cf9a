import Glibc

/// An advisory lock on a path: one holder among all processes that ask for it.
///
/// The lock is on `PATH.lock`, which holds the process id of the holder as text. It ends with this object or with the
/// process, however it dies; the file stays, and says nothing about whether the lock is held.
public final class FileLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock on `path`, or fails at once.
    public init(path: String) throws(FileLockError) {
        let file = path + ".lock"
        let opened = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard opened >= 0 else { throw .cannotOpen(file: file, systemError: errno) }
        var result: Int32
        repeat { result = flock(opened, LOCK_EX | LOCK_NB) } while result != 0 && errno == EINTR
        if result != 0 {
            let systemError = errno
            let holder = readPID(opened)
            close(opened)
            if systemError == EWOULDBLOCK { throw .held(path: path, by: holder) }
            throw .cannotOpen(file: file, systemError: systemError)
        }
        descriptor = opened
        writePID(opened)
    }

    deinit {
        close(descriptor)
    }
}

/// Why a lock could not be taken.
public enum FileLockError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another holder has it; its process id where it has left one.
    case held(path: String, by: Int32?)
    /// The lock file can't be made or locked, for an `errno`.
    case cannotOpen(file: String, systemError: Int32)

    public var description: String {
        switch self {
        case .held(let path, let pid): "\(path) is in use by \(pid.map { "process \($0)" } ?? "another process")"
        case .cannotOpen(let file, let systemError):
            "cannot use the lock file \(file): \(systemErrorText(systemError))"
        }
    }
}

private func readPID(_ descriptor: Int32) -> Int32? {
    var buffer = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { return nil }
    return Int32(String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
}

private func writePID(_ descriptor: Int32) {
    // The text is for people; on a full disk it is missing and the lock still holds.
    guard ftruncate(descriptor, 0) == 0 else { return }
    let text = Array("\(getpid())\n".utf8)
    _ = pwrite(descriptor, text, text.count, 0)
}
