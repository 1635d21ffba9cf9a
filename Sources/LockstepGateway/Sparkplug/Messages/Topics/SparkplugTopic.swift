/// The name of an edge node: its group and its own id.
public struct SparkplugNode: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The id of the group.
    public let group: String
    /// The id of the node in its group.
    public let node: String

    /// Creates a name.
    /// - Returns: nil if an id is empty or has one of the characters `/`, `+`, `#`.
    public init?(group: String, node: String) {
        guard Self.isValid(group), Self.isValid(node) else { return nil }
        self.group = group
        self.node = node
    }

    /// Parses `GROUP/NODE`.
    /// - Returns: nil if the text is not a name.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(group: String(parts[0]), node: String(parts[1]))
    }

    /// Returns whether a text can be the id of a group, node, device or host.
    public static func isValid(_ text: String) -> Bool {
        !text.isEmpty && !text.unicodeScalars.contains { "/+#\0".unicodeScalars.contains($0) }
    }

    /// The name as settings write it: `GROUP/NODE`.
    public var description: String { "\(group)/\(node)" }

    /// The order by group and node.
    public static func < (left: SparkplugNode, right: SparkplugNode) -> Bool {
        (left.group, left.node) < (right.group, right.node)
    }
}

/// A topic of Sparkplug B.
public struct SparkplugTopic: Sendable, Hashable, CustomStringConvertible {
    /// The first level of all topics.
    public static let namespace = "spBv1.0"

    /// The type of a message.
    public enum MessageType: String, Sendable, Hashable, CaseIterable {
        /// A node is online, and these are its metrics.
        case nodeBirth = "NBIRTH"
        /// New values of a node.
        case nodeData = "NDATA"
        /// A node is offline.
        case nodeDeath = "NDEATH"
        /// A command to a node.
        case nodeCommand = "NCMD"
        /// A device is online, and these are its metrics.
        case deviceBirth = "DBIRTH"
        /// New values of a device.
        case deviceData = "DDATA"
        /// A device is offline.
        case deviceDeath = "DDEATH"
        /// A command to a device.
        case deviceCommand = "DCMD"

        /// Whether the topic has a level for the device.
        public var hasDevice: Bool { rawValue.hasPrefix("D") }
    }

    /// The type.
    public let type: MessageType
    /// The node.
    public let node: SparkplugNode
    /// The id of the device; nil for messages of the node itself.
    public let device: String?

    /// Creates a topic.
    public init(_ type: MessageType, _ node: SparkplugNode, device: String? = nil) {
        self.type = type
        self.node = node
        self.device = device
    }

    /// Parses a topic of a node or device.
    /// - Returns: nil for any other topic.
    public init?(_ text: String) {
        let levels = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard levels.count >= 4, levels[0] == Self.namespace, let type = MessageType(rawValue: levels[2]),
            let node = SparkplugNode(group: levels[1], node: levels[3]), levels.count == (type.hasDevice ? 5 : 4)
        else { return nil }
        if type.hasDevice, !SparkplugNode.isValid(levels[4]) { return nil }
        self.init(type, node, device: type.hasDevice ? levels[4] : nil)
    }

    /// The text of the topic.
    public var description: String {
        "\(Self.namespace)/\(node.group)/\(type.rawValue)/\(node.node)" + (device.map { "/" + $0 } ?? "")
    }

    /// Returns the filter of all messages of a type.
    public static func filter(_ type: MessageType) -> String {
        "\(namespace)/+/\(type.rawValue)/+" + (type.hasDevice ? "/+" : "")
    }

    /// Returns the topic on which a host application says whether it is online.
    public static func state(of host: String) -> String { "\(namespace)/STATE/\(host)" }
}
