import FoundationEssentials
import LockstepHTTP

/// The users who may send by HTTP, with their tokens.
public struct GatewayUsers: Sendable {
    /// A line of a token file that is invalid. Its text never contains the token.
    public struct FormatError: Error, CustomStringConvertible {
        /// The number of the line, and what to do.
        public let description: String
    }

    private let users: [(name: [UInt8], token: [UInt8])]

    /// Parses a token file: lines `USER TOKEN`. Empty lines and lines that start with `#` are ignored. A user may have
    /// several lines.
    /// - Throws: ``FormatError`` for any other line, or if there is no user.
    public init(parsing text: String) throws(FormatError) {
        var users: [(name: [UInt8], token: [UInt8])] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 2, (1...64).contains(first.utf8.count), !first.utf8.contains(where: ":/".utf8.contains)
            else {
                throw FormatError(description: "line \(index + 1): write 'USER TOKEN', without ':' and '/' in USER")
            }
            guard (16...512).contains(words[1].utf8.count), words[1].utf8.allSatisfy({ (0x21...0x7e).contains($0) })
            else {
                throw FormatError(
                    description:
                        "line \(index + 1): the token must have 16 to 512 characters of ASCII; make one with "
                        + "'openssl rand -hex 16'")
            }
            users.append((Array(first.utf8), Array(words[1].utf8)))
        }
        guard !users.isEmpty else {
            throw FormatError(description: "there is no user: add a line such as 'alice TOKEN'")
        }
        self.users = users
    }

    /// Returns the user of a field `Authorization`: `Bearer TOKEN`, or `Basic` with the user and the token as password.
    /// - Returns: nil if there is no such user.
    func user(authorization: String) -> String? {
        let words = authorization.split(separator: " ")
        guard words.count == 2 else { return nil }
        switch words[0].lowercased() {
        case "bearer": return user(named: nil, token: Array(words[1].utf8))
        case "basic":
            guard let login = Self.login(basic: words[1]) else { return nil }
            return user(named: login.name, token: login.token)
        default: return nil
        }
    }

    /// Returns the user name in a field `Authorization`, whether or not there is such a user; nil for a field without one.
    static func name(authorization: String) -> String? {
        let words = authorization.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "basic", let login = login(basic: words[1]) else { return nil }
        return String(decoding: login.name, as: UTF8.self)
    }

    private static func login(basic text: Substring) -> (name: [UInt8], token: [UInt8])? {
        guard let data = Data(base64Encoded: String(text)), let colon = data.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (Array(data[..<colon]), Array(data[data.index(after: colon)...]))
    }

    /// The duration depends on the length of the input, but not on how much of it is right.
    private func user(named name: [UInt8]?, token: [UInt8]) -> String? {
        var found: String?
        for user in users {
            let isName = name.map { hasEqualBytes(user.name, $0) } ?? true
            if hasEqualBytes(user.token, token), isName { found = found ?? String(decoding: user.name, as: UTF8.self) }
        }
        return found
    }
}
