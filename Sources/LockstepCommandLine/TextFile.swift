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
