public import LockstepModel

/// A rule that translates the JSON messages of some topics, written in the settings.
public struct JSONRule: Sendable {
    /// The origin of a column's values: the value at `path` times `factor` plus `offset`.
    public struct Column: Sendable {
        /// The place of the value in an item.
        public var path: JSONPointer
        /// The factor for numbers.
        public var factor: Double
        /// The number added after the multiplication.
        public var offset: Double

        /// Creates the origin of a column.
        public init(path: JSONPointer, factor: Double = 1, offset: Double = 0) {
            self.path = path
            self.factor = factor
            self.offset = offset
        }
    }

    /// The MQTT topic filter.
    public var topic: String
    /// The name of the sender, in which `{1}` stands for the topic level of the first wildcard, and so on.
    public var device: String
    /// The stream.
    public var stream: String
    /// The place of an array of items; nil if the message is one item.
    public var items: JSONPointer?
    /// The place of the time in an item, or else in an object around it; nil for the time of arrival.
    public var time: JSONPointer?
    /// The unit of the time.
    public var timeUnit: TimeUnit
    /// The origins of the columns, by name.
    public var columns: [String: Column]

    /// Creates a rule.
    public init(
        topic: String, device: String, stream: String, items: JSONPointer? = nil, time: JSONPointer? = nil,
        timeUnit: TimeUnit = .seconds, columns: [String: Column]
    ) {
        self.topic = topic
        self.device = device
        self.stream = stream
        self.items = items
        self.time = time
        self.timeUnit = timeUnit
        self.columns = columns
    }

    /// Returns the name of the sender of a topic; nil if a wildcard that the name uses does not exist.
    func sender(of topic: String) -> String? {
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        let filter = self.topic.split(separator: "/", omittingEmptySubsequences: false)
        var name = device
        var number = 0
        for (index, level) in filter.enumerated() where level == "+" || level == "#" {
            number += 1
            guard index < levels.count else { continue }
            let text = level == "+" ? String(levels[index]) : levels[index...].joined(separator: "/")
            name = name.replacing("{\(number)}", with: text)
        }
        return name.contains("{") ? nil : name
    }
}

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
