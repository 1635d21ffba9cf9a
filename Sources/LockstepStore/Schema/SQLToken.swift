/// A token of an SQL statement. Comments and white space are no tokens.
struct SQLToken {
    /// The token as written, with quotes.
    let text: String
    /// Whether white space or a comment precedes it.
    let isSeparate: Bool

    /// The name that the token stands for: without quotes.
    var name: String {
        guard let quote = text.first, text.count >= 2 else { return text }
        let inner = text.dropFirst().dropLast()
        switch quote {
        case "[": return String(inner)
        case "\"", "`", "'":
            var name = ""
            var isSecond = false
            for character in inner {
                isSecond = character == quote && !isSecond
                if !isSecond { name.append(character) }
            }
            return name
        default: return text
        }
    }

    /// The token in lower case, to compare it with a keyword.
    var keyword: String { text.lowercased() }

    /// Returns the tokens of a statement. Operators of several characters are several tokens.
    static func all(of sql: String) -> [SQLToken] {
        let bytes = Array(sql.utf8)
        var tokens: [SQLToken] = []
        var isSeparate = false
        var position = 0
        func starts(_ text: StaticString) -> Bool {
            let end = position + text.utf8CodeUnitCount
            return end <= bytes.count && String(decoding: bytes[position..<end], as: UTF8.self) == "\(text)"
        }
        /// Skips to the end of the next occurrence of `byte`.
        func skip(past byte: UInt8) {
            while position < bytes.count, bytes[position] != byte { position += 1 }
            position = min(position + 1, bytes.count)
        }
        while position < bytes.count {
            let first = position
            let byte = bytes[position]
            if [0x20, 0x09, 0x0A, 0x0C, 0x0D].contains(byte) {
                position += 1
                isSeparate = true
                continue
            }
            if starts("--") {
                skip(past: UInt8(ascii: "\n"))
                isSeparate = true
                continue
            }
            if starts("/*") {
                position += 2
                while position < bytes.count, !starts("*/") { position += 1 }
                position = min(position + 2, bytes.count)
                isSeparate = true
                continue
            }
            position += 1
            switch byte {
            case UInt8(ascii: "["): skip(past: UInt8(ascii: "]"))
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
                skip(past: byte)
                // A doubled quote is part of the name.
                while position < bytes.count, bytes[position] == byte {
                    position += 1
                    skip(past: byte)
                }
            default: if isWord(byte) { while position < bytes.count, isWord(bytes[position]) { position += 1 } }
            }
            let text = String(decoding: bytes[first..<position], as: UTF8.self)
            tokens.append(SQLToken(text: text, isSeparate: isSeparate))
            isSeparate = false
        }
        return tokens
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    /// Returns the definitions in a statement that creates a table, without comments, by the names of their columns.
    static func columnDefinitions(inTable sql: String) -> [String: String] {
        let tokens = all(of: sql)
        guard let start = tokens.firstIndex(where: { $0.text == "(" }) else { return [:] }
        var definitions: [String: String] = [:]
        var name: String?
        var definition = ""
        var depth = 1
        for token in tokens[(start + 1)...] {
            if token.text == "(" { depth += 1 }
            if token.text == ")" { depth -= 1 }
            if depth == 0 || depth == 1 && token.text == "," {
                if let name { definitions[name] = definition }
                if depth == 0 { break }
                name = nil
                definition = ""
                continue
            }
            if name == nil { name = token.name } else if token.isSeparate { definition += " " }
            definition += token.text
        }
        return definitions
    }
}
