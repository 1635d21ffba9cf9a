import FoundationEssentials
import Glibc

/// Files that nobody but their owner may read: keys, passwords.
public enum SecretFile {
    /// Sees that a file is there, and that its group and others have no rights to it.
    /// - Returns: the path, as it was given.
    /// - Throws: ``CommandFailure`` that says how to mend it.
    @discardableResult
    public static func check(_ path: String) throws -> String {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw CommandFailure("\(path) can't be read: \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & 0o077 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw CommandFailure(
                "\(path) holds a secret, and not only its owner may read it (mode \(mode)): chmod 600 \(path)")
        }
        return path
    }

    /// The password in a file: its first line.
    /// - Throws: ``CommandFailure``, never with the password in it.
    public static func password(in path: String) throws -> String {
        try check(path)
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw CommandFailure("\(path) can't be read as UTF-8")
        }
        let line = text.prefix { !$0.isNewline }
        guard !line.isEmpty else { throw CommandFailure("\(path): its first line, the password, is empty") }
        return String(line)
    }
}
