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
