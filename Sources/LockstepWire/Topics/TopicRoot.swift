public import LockstepModel

/// The prefix of all topics of a system, of one or more levels. It formats and parses topics and topic filters.
public struct TopicRoot: Hashable, Sendable, CustomStringConvertible {
    /// The root as text, without a trailing slash.
    public let text: String
    /// The streams whose topics ``parse(_:)`` accepts.
    public var streams = StreamCatalog.builtIn

    /// The default root, `lockstep`.
    public static let standard = TopicRoot(unchecked: "lockstep")

    /// Creates a root from `text`.
    /// - Throws: ``TopicError`` if `text` is empty, too long, starts with `$`, or has a wildcard or an empty level.
    public init(_ text: String) throws(TopicError) {
        let levels = text.split(separator: "/", omittingEmptySubsequences: false)
        guard text.utf8.count <= 256, !text.hasPrefix("$"), levels.allSatisfy({ !$0.isEmpty }),
            !text.unicodeScalars.contains(where: { "+#\0".unicodeScalars.contains($0) })
        else {
            throw TopicError(
                "'\(text)' is not a valid topic root: use one or more levels without +, # and empty levels")
        }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    /// The root as text.
    public var description: String { text }

    /// Returns the topic of a device's channel.
    public func topic(_ address: DeviceAddress, _ channel: Channel) -> String {
        // Appending is faster than an interpolation: a collector publishes an acknowledgement a second to each device.
        let (group, device, channel) = (address.group.rawValue, address.device.rawValue, channel.name)
        var topic = ""
        topic.reserveCapacity(text.utf8.count + group.utf8.count + device.utf8.count + channel.utf8.count + 3)
        topic += text
        topic += "/"
        topic += group
        topic += "/"
        topic += device
        topic += "/"
        topic += channel
        return topic
    }

    /// Returns the topic of a collector's health report.
    public func topic(group: GroupID, collector: CollectorID) -> String {
        "\(text)/\(group)/\(TopicRoot.collectorLevel)/\(collector)"
    }

    /// Returns the topic of a channel for events of a collector's machine.
    public func topic(group: GroupID, collector: CollectorID, _ channel: Channel) -> String {
        "\(topic(group: group, collector: collector))/\(channel.name)"
    }

    /// Returns the topic of a gateway's health report.
    public func topic(group: GroupID, gateway: DeviceID) -> String {
        "\(text)/\(group)/\(TopicRoot.gatewayLevel)/\(gateway)"
    }

    /// Returns the topic of a session's state, or of a request about it.
    public func topic(_ session: RecordingSession.Key, _ request: SessionRequest.Verb? = nil) -> String {
        "\(text)/\(session.group)/\(TopicRoot.sessionLevel)/\(session.id)" + (request.map { "/\($0.rawValue)" } ?? "")
    }

    /// Returns a topic filter for the states of the sessions of `group`, or of all groups if it is nil.
    public func sessionFilter(group: GroupID?) -> String {
        "\(text)/\(group?.rawValue ?? "+")/\(TopicRoot.sessionLevel)/+"
    }

    /// Returns a topic filter for all topics of `group`, or of all groups if it is nil.
    public func filter(group: GroupID?) -> String {
        group.map { "\(text)/\($0)/#" } ?? "\(text)/#"
    }

    /// Returns a topic filter for one channel of all devices of `group`, or of all groups if it is nil.
    public func filter(group: GroupID?, channel: Channel) -> String {
        "\(text)/\(group?.rawValue ?? "+")/+/\(channel.name)"
    }

    /// The topic filter for the health reports of all collectors.
    public var collectorFilter: String { "\(text)/+/\(TopicRoot.collectorLevel)/+" }

    /// Returns a topic filter for the health reports of a collector, whatever its first group is.
    public func filter(collector: CollectorID) -> String { "\(text)/+/\(TopicRoot.collectorLevel)/\(collector)" }

    /// The topic filter for the health reports of all gateways.
    public var gatewayFilter: String { "\(text)/+/\(TopicRoot.gatewayLevel)/+" }

    fileprivate static let collectorLevel = "$collector"
    fileprivate static let gatewayLevel = "$gateway"
    fileprivate static let sessionLevel = "$session"
}

/// A parsed topic.
public enum Topic: Hashable, Sendable {
    /// A channel of a device.
    case device(DeviceAddress, Channel)
    /// The health report of a collector.
    case collector(GroupID, CollectorID)
    /// A channel for events of a collector's machine.
    case collectorEvent(GroupID, CollectorID, Channel)
    /// The health report of a gateway.
    case gateway(GroupID, DeviceID)
    /// The state of a session, or a request about it.
    case session(RecordingSession.Key, SessionRequest.Verb?)
}

extension TopicRoot {
    /// Parses a topic below this root.
    /// - Throws: ``TopicError`` if the topic is invalid, or if its stream is not in ``streams``.
    public func parse(_ topic: String) throws(TopicError) -> Topic {
        guard topic.utf8.starts(with: text.utf8), topic.utf8.dropFirst(text.utf8.count).first == UInt8(ascii: "/")
        else { throw TopicError("the topic is not below '\(text)/'") }
        let levels = topic.utf8.dropFirst(text.utf8.count + 1)
            .split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard levels.count == 3 else {
            throw TopicError("the topic does not have the form {root}/{group}/{device}/{channel}")
        }
        let name = String(Substring(levels[2]))
        do {
            let group = try GroupID(validating: String(Substring(levels[0])))
            let device = String(Substring(levels[1]))
            if device == TopicRoot.collectorLevel {
                if let slash = name.firstIndex(of: "/"),
                    let channel = Channel(name: String(name[name.index(after: slash)...]), streams: streams),
                    [.event, .eventAcknowledge, .eventAcknowledged].contains(channel)
                {
                    return .collectorEvent(group, try CollectorID(validating: String(name[..<slash])), channel)
                }
                return .collector(group, try CollectorID(validating: name))
            }
            if device == TopicRoot.sessionLevel { return try session(name, in: group) }
            if device == TopicRoot.gatewayLevel { return .gateway(group, try DeviceID(validating: name)) }
            let address = DeviceAddress(group: group, device: try DeviceID(validating: device))
            guard let channel = Channel(name: name, streams: streams) else {
                throw TopicError(
                    name.hasPrefix(SensorStream.declaredPrefix)
                        ? streams.unknownStreamMessage(for: name) : unknownChannelMessage(for: name),
                    address: address)
            }
            return .device(address, channel)
        } catch let error as IdentifierError {
            throw TopicError(error.description)
        } catch {
            throw error as? TopicError ?? TopicError("\(error)")
        }
    }
}

extension TopicRoot {
    /// Parses the levels of a topic after the level of sessions.
    private func session(_ name: String, in group: GroupID) throws -> Topic {
        let levels = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let key = RecordingSession.Key(group: group, id: try SessionID(validating: String(levels[0])))
        guard levels.count == 2 else { return .session(key, nil) }
        guard let verb = SessionRequest.Verb(rawValue: String(levels[1])) else {
            throw TopicError(
                "'\(levels[1].prefix(80))' is not a request about a session: use one of "
                    + SessionRequest.Verb.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return .session(key, verb)
    }

    /// Returns an error message for a name that is no channel: the reason, and what to do.
    private func unknownChannelMessage(for name: String) -> String {
        let problem = "'\(name.prefix(80))' is not a channel"
        if let stream = streams.stream(named: name.lowercased()) {
            return "\(problem): did you mean '\(stream.name)'?"
        }
        let rest = name.split(separator: "/", omittingEmptySubsequences: false).dropFirst().joined(separator: "/")
        if Channel(name: rest, streams: streams) != nil {
            return "\(problem): a device id cannot contain '/'"
        }
        return
            "\(problem): use a stream such as 'motion/accelerometer'; streams of your own begin with 'x/' and must be "
            + "declared in the settings"
    }
}

/// The error thrown for an invalid topic or topic root.
public struct TopicError: Error, Hashable, CustomStringConvertible {
    /// The reason, as one sentence.
    public let description: String
    /// The device of the topic if only its channel is unknown, such as that of a stream that is not declared here.
    public let address: DeviceAddress?

    init(_ description: String, address: DeviceAddress? = nil) {
        self.description = description
        self.address = address
    }
}
