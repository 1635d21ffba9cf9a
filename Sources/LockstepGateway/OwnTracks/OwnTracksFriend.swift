import LockstepModel
import LockstepWire

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
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "+/=\r\n".utf8.contains(byte)
        }
    }
}
