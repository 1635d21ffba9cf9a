import LockstepModel

/// A rule that translates the JSON messages of some topics, written in the settings.
public struct JSONRule: Sendable {
    /// The unit of a time.
    public enum TimeUnit: String, Sendable, CaseIterable {
        /// Seconds since 1970, with or without a fraction.
        case seconds = "s"
        /// Milliseconds since 1970.
        case milliseconds = "ms"
        /// Microseconds since 1970.
        case microseconds = "us"
        /// Nanoseconds since 1970.
        case nanoseconds = "ns"
        /// A date and time in ISO 8601; UTC if it has no time zone.
        case iso
    }

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
    /// The place of the time in an item; nil for the time of arrival.
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

    /// Returns the time at the rule's place; nil if it is missing or invalid.
    func time(in item: JSONValue) -> Int64? {
        guard let value = time?.value(in: item) else { return nil }
        switch timeUnit {
        case .seconds: return ForeignTime.microseconds(seconds: value)
        case .milliseconds: return value.integer.flatMap { ForeignTime.microseconds(milliseconds: $0) }
        case .microseconds: return value.integer
        case .nanoseconds: return value.integer.map { ForeignTime.microseconds(nanoseconds: $0) }
        case .iso:
            guard let text = value.string, text.contains("-") else { return nil }
            return Timestamp(text)?.microseconds
        }
    }
}
