import Glibc

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
