import Glibc

/// Reads files of text that a user has named.
public enum TextFile {
    /// Returns the whole text of a file, which may also be a pipe.
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - kind: what the file is, for errors, such as `the rules`.
    /// - Throws: ``CommandFailure`` with the path, the reason and what to do, for a file that is missing, a folder, not
    ///   readable or not UTF-8.
    public static func read(_ path: String, _ kind: String) throws -> String {
        let bytes: [UInt8]
        do { bytes = try self.bytes(of: path) } catch {
            throw CommandFailure("cannot read \(kind) \(path): \(problem(error.code))")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure("cannot read \(kind) \(path): it is not text in UTF-8: save it with this encoding")
        }
        return text
    }

    private static func problem(_ code: Int32) -> String {
        switch code {
        case ENOENT, ENOTDIR: "there is no such file: check the path"
        case EISDIR: "it is a folder: name a file"
        case EACCES: "this user may not read it: change its permissions, or those of its folder"
        default: String(cString: strerror(code))
        }
    }

    /// An error of the system while a file is read.
    struct ReadError: Error {
        /// The value of `errno`.
        let code: Int32
    }

    /// Reads until the end, because a pipe has no size, or until more than `limit` bytes are read.
    static func bytes(of path: String, limit: Int = .max) throws(ReadError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw ReadError(code: errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= limit {
            let count = Glibc.read(file, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ReadError(code: errno) }
            guard count > 0 else { break }
            bytes += part[..<count]
        }
        return bytes
    }
}

/// Checks and reads files with keys and passwords, which only their owner may access.
public enum SecretFile {
    /// Checks that a file is readable, and that its group and others have no access to it.
    /// - Returns: the path, unchanged.
    /// - Throws: ``CommandFailure``. If the permissions are wrong, its text has the command that corrects them.
    @discardableResult
    public static func check(_ path: String) throws -> String {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw CommandFailure("cannot read \(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & 0o077 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw CommandFailure(
                "\(path) contains a secret, but other users can access it (mode \(mode)): run 'chmod 600 \(path)'")
        }
        return path
    }

    /// The largest file with a password, in bytes.
    private static let maxPasswordFile = 65_536

    /// Reads the password or other secret on the first line of a file, which may also be a pipe.
    /// - Throws: ``CommandFailure`` if the file is unreadable, empty or accessible to other users. Its text never
    ///   contains the password.
    public static func password(in path: String) throws -> String {
        try check(path)
        let bytes: [UInt8]
        do { bytes = try TextFile.bytes(of: path, limit: maxPasswordFile) } catch {
            throw CommandFailure("cannot read \(path): \(String(cString: strerror(error.code)))")
        }
        guard bytes.count <= maxPasswordFile else {
            throw CommandFailure(
                "\(path) is larger than \(maxPasswordFile) bytes: give a file with the secret on its first line")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure("cannot read \(path) as UTF-8")
        }
        let line = text.prefix { !$0.isNewline }
        guard !line.isEmpty else { throw CommandFailure("the first line of \(path), the secret, is empty") }
        return String(line)
    }
}

/// An error for the user at the terminal. Its text states what happened and what to do.
public struct CommandFailure: Error, CustomStringConvertible {
    /// The text for the user.
    public let description: String
    /// Creates an error with this text.
    public init(_ description: String) { self.description = description }
}
