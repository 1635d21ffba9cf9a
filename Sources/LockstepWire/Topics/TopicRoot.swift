public import LockstepModel

/// The first levels of every topic, `lockstep` unless configured, and with them the names of all topics.
public struct TopicRoot: Hashable, Sendable, CustomStringConvertible {
    public let text: String

    public static let standard = TopicRoot(unchecked: "lockstep")

    /// - Throws: ``TopicError`` if `text` is empty, has a wildcard, an empty level or starts with `$`.
    public init(_ text: String) throws(TopicError) {
        let levels = text.split(separator: "/", omittingEmptySubsequences: false)
        guard text.utf8.count <= 256, !text.hasPrefix("$"), levels.allSatisfy({ !$0.isEmpty }),
            !text.unicodeScalars.contains(where: { "+#\0".unicodeScalars.contains($0) })
        else {
            throw TopicError(
                "'\(text)' can't be the root of topics: use one or more levels without +, # and empty levels")
        }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    public var description: String { text }

    public func topic(_ address: DeviceAddress, _ channel: Channel) -> String {
        "\(text)/\(address.group)/\(address.device)/\(channel.name)"
    }

    public func topic(group: GroupID, collector: CollectorID) -> String {
        "\(text)/\(group)/\(TopicRoot.collectorLevel)/\(collector)"
    }

    /// A filter for everything of one group, or of all.
    public func filter(group: GroupID?) -> String {
        group.map { "\(text)/\($0)/#" } ?? "\(text)/#"
    }

    /// A filter for one channel of all devices of one group, or of all.
    public func filter(group: GroupID?, channel: Channel) -> String {
        "\(text)/\(group?.rawValue ?? "+")/+/\(channel.name)"
    }

    /// A filter for the health of all collectors.
    public var collectorFilter: String { "\(text)/+/\(TopicRoot.collectorLevel)/+" }

    fileprivate static let collectorLevel = "$collector"
}

/// What a topic names.
public enum Topic: Hashable, Sendable {
    case device(DeviceAddress, Channel)
    case collector(GroupID, CollectorID)
}

extension TopicRoot {
    /// Reads a topic below this root.
    /// - Throws: ``TopicError`` with the reason for which it is none of ours.
    public func parse(_ topic: String) throws(TopicError) -> Topic {
        guard topic.utf8.starts(with: text.utf8), topic.utf8.dropFirst(text.utf8.count).first == UInt8(ascii: "/")
        else { throw TopicError("the topic is not below '\(text)/'") }
        let levels = topic.utf8.dropFirst(text.utf8.count + 1)
            .split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard levels.count == 3 else { throw TopicError("the topic is not {root}/{group}/{device}/{channel}") }
        let name = String(Substring(levels[2]))
        do {
            let group = try GroupID(validating: String(Substring(levels[0])))
            let device = String(Substring(levels[1]))
            if device == TopicRoot.collectorLevel {
                return .collector(group, try CollectorID(validating: name))
            }
            let address = DeviceAddress(group: group, device: try DeviceID(validating: device))
            guard let channel = Channel(name: name) else {
                throw TopicError("'\(name.prefix(80))' is no channel (and a device id can't have a '/')")
            }
            return .device(address, channel)
        } catch let error as IdentifierError {
            throw TopicError(error.description)
        } catch {
            throw error as? TopicError ?? TopicError("\(error)")
        }
    }
}

/// Why a text is no topic of ours.
public struct TopicError: Error, Hashable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}
