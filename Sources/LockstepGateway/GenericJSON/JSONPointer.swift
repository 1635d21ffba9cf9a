public import LockstepModel

/// A JSON Pointer (RFC 6901): the place of a value in a JSON document.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    private let names: [String]
    /// The pointer as text.
    public let description: String

    /// Creates a pointer. The empty text is the whole document; any other text begins with `/`.
    /// - Returns: nil if the text is not a pointer.
    public init?(_ text: String) {
        guard text.isEmpty || text.hasPrefix("/") else { return nil }
        var names: [String] = []
        for part in text.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            // `~0` is a tilde and `~1` a slash; nothing else may follow a tilde.
            var name = ""
            var rest = part[...]
            while let character = rest.popFirst() {
                guard character == "~" else {
                    name.append(character)
                    continue
                }
                switch rest.popFirst() {
                case "0": name.append("~")
                case "1": name.append("/")
                default: return nil
                }
            }
            names.append(name)
        }
        self.names = names
        description = text
    }

    private init(_ names: [String]) {
        self.names = names
        description = names.map { "/" + $0 }.joined()
    }

    /// Returns the value at this place, or nil if there is none.
    public func value(in document: JSONValue) -> JSONValue? {
        var value = document
        for name in names {
            switch value {
            case .object(let members):
                guard let member = members[name] else { return nil }
                value = member
            case .array(let items):
                // Leading zeros and signs are not allowed.
                guard let index = Int(name), String(index) == name, items.indices.contains(index) else { return nil }
                value = items[index]
            default: return nil
            }
        }
        return value
    }

    /// Returns the objects around this place, the innermost one first.
    func parents(in document: JSONValue) -> [JSONValue] {
        names.indices.reversed().compactMap { JSONPointer(Array(names[..<$0])).value(in: document) }
    }
}
