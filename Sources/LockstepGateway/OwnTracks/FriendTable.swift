import LockstepModel
import LockstepWire

/// What a device shares with the other devices of its group.
public enum FriendMessage: Sendable, Hashable {
    /// A position: a JSON object of the type `location`, and its time.
    case location([UInt8], at: Int64)
    /// Name and picture: a JSON object of the type `card`.
    case card([UInt8])
}

/// The last position and the card of each device, for the other devices of its group.
///
/// It is kept in memory: after a restart, a friend appears with its next message.
struct FriendTable {
    /// The maximum number of devices. Further ones are not shared.
    static let maxDevices = 1000
    /// The maximum size of the messages for one device in bytes.
    static let maxBytes = 256 << 10

    private struct Friend {
        var location: (message: [UInt8], time: Int64)?
        var card: [UInt8]?
    }

    private var groups: [GroupID: [DeviceID: Friend]] = [:]
    private var count = 0

    /// Records what a device shares. An older position does not replace a newer one.
    mutating func note(_ message: FriendMessage, of address: DeviceAddress) {
        if groups[address.group]?[address.device] == nil {
            guard count < Self.maxDevices else { return }
            count += 1
        }
        var friend = groups[address.group]?[address.device] ?? Friend()
        switch message {
        case .location(let message, let time):
            if let known = friend.location, known.time > time { break }
            friend.location = (message, time)
        case .card(let message): friend.card = message
        }
        groups[address.group, default: [:]][address.device] = friend
    }

    /// Returns the messages for a device: those of the other devices of its group, the newest positions first.
    func messages(for address: DeviceAddress) -> [[UInt8]] {
        let others = (groups[address.group] ?? [:]).filter { $0.key != address.device }
        var result: [[UInt8]] = []
        var bytes = 0
        for (_, friend) in others.sorted(by: { ($0.value.location?.time ?? 0) > ($1.value.location?.time ?? 0) }) {
            for message in [friend.card, friend.location?.message].compactMap({ $0 }) {
                guard bytes + message.count <= Self.maxBytes else { continue }
                bytes += message.count
                result.append(message)
            }
        }
        return result
    }
}

/// Builds the messages for friends from those of a device, with the fields that other devices may see.
enum OwnTracksFriend {
    /// The maximum size of the picture of a card: Base64.
    static let maxFace = 65_536

    /// Returns what a message shares, or nil if it shares nothing. The message is built anew from checked values.
    static func message(of content: JSONValue, topic: String) -> FriendMessage? {
        switch content["_type"]?.string {
        case "location":
            guard let lat = content["lat"]?.readableNumber, let lon = content["lon"]?.readableNumber,
                (-90...90).contains(lat), (-180...180).contains(lon),
                let time = try? TimeUnit.seconds.microseconds(of: content["tst"]) / 1_000_000, time > 0
            else { return nil }
            var object = JSONObjectWriter()
            object.member("_type", "location")
            object.member("topic", topic)
            object.member("tid", identifier(content, topic))
            object.member("tst", time)
            object.member("lat", lat)
            object.member("lon", lon)
            for name in ["acc", "alt", "batt", "cog", "vel"] {
                if let number = content[name]?.readableNumber { object.member(name, number) }
            }
            return .location(object.finish(), at: time)
        case "card":
            guard let name = content["name"]?.string, name.utf8.count <= 200 else { return nil }
            var object = JSONObjectWriter()
            object.member("_type", "card")
            object.member("topic", topic)
            object.member("tid", identifier(content, topic))
            object.member("name", name)
            if let face = content["face"]?.string, face.utf8.count <= maxFace, face.utf8.allSatisfy(isBase64) {
                object.member("face", face)
            }
            return .card(object.finish())
        default: return nil
        }
    }

    /// The tracker id: that of the message, or the last two characters of the device.
    private static func identifier(_ content: JSONValue, _ topic: String) -> String {
        content["tid"]?.string.flatMap { (1...2).contains($0.count) && $0.utf8.count <= 8 ? $0 : nil }
            ?? String(topic.suffix(2))
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "+/=\r\n".utf8.contains(byte)
    }
}
