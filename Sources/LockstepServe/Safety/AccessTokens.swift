import LockstepHTTP

/// The tokens that clients must present, with their rights.
public struct AccessTokens: Sendable {
    /// A line of a token file that is invalid. Its text never contains the token.
    public struct FormatError: Error, CustomStringConvertible {
        /// The number of the line, and what to do.
        public let description: String
    }

    private let tokens: [(token: [UInt8], right: Right)]

    /// Parses a token file: lines `read TOKEN` or `operate TOKEN`. Empty lines and lines that start with `#` are ignored.
    /// - Throws: ``FormatError`` for any other line, or if there is no token.
    public init(parsing text: String) throws(FormatError) {
        var tokens: [(token: [UInt8], right: Right)] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 2, let right = Right(rawValue: String(first)) else {
                throw FormatError(description: "line \(index + 1): write 'read TOKEN' or 'operate TOKEN'")
            }
            guard (16...512).contains(words[1].utf8.count), words[1].utf8.allSatisfy(Self.isValid) else {
                throw FormatError(
                    description:
                        "line \(index + 1): the token must have 16 to 512 characters of A-Z a-z 0-9 - . _ ~ + / =; "
                        + "make one with 'openssl rand -hex 32'")
            }
            tokens.append((Array(words[1].utf8), right))
        }
        guard !tokens.isEmpty else {
            throw FormatError(description: "there is no token: add a line such as 'operate TOKEN'")
        }
        self.tokens = tokens
    }

    /// Returns the rights of a token; none if it is unknown.
    ///
    /// The duration depends on the length of `token`, but not on how much of it is right.
    func rights(of token: String) -> Rights {
        let candidate = Array(token.utf8)
        return rights { hasEqualBytes($0, candidate) }
    }

    /// Returns the rights of the tokens that fulfil a condition, which is checked for all of them.
    func rights(where matches: ([UInt8]) -> Bool) -> Rights {
        var mayRead = false
        var mayOperate = false
        for (token, right) in tokens {
            let isEqual = matches(token)
            mayRead = mayRead || isEqual
            mayOperate = mayOperate || (isEqual && right == .operate)
        }
        return mayOperate ? .operate : mayRead ? .read : .none
    }

    /// The characters of a bearer token (RFC 6750).
    private static func isValid(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~+/=".utf8.contains(byte)
        }
    }
}
