import Glibc

/// PUBLISH packets with QoS 0 that may overtake others, and are sent with one system call.
///
/// libmosquitto copies and reports each packet, and makes two system calls for it. A collector sends thousands of
/// acknowledgements a second, for which this would take several times as long as creating them.
struct PacketBuffer {
    private var bytes: [UInt8] = []
    /// The number of bytes that were sent.
    private var sent = 0

    /// The largest value of the length field of a packet.
    private static let maxLength = 268_435_455

    /// Whether all packets were sent.
    var isEmpty: Bool { sent == bytes.count }

    /// Appends a message.
    /// - Parameter maximumSize: the size of the largest packet that the broker accepts, in bytes, or nil.
    /// - Returns: false if the message needs a packet of another type, or is not valid. Nothing is appended then.
    mutating func append(_ message: MQTTMessage, version: MQTTVersion, maximumSize: Int?) -> Bool {
        let topic = message.topic.utf8
        guard message.qos == .atMostOnce, message.contentType == nil, (1...65_535).contains(topic.count),
            !topic.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") || $0 == 0 })
        else { return false }
        let length = 2 + topic.count + (version == .five ? 1 : 0) + message.payload.count
        guard length <= Self.maxLength, length + 5 <= maximumSize ?? .max else { return false }

        bytes.append(message.isRetained ? 0x31 : 0x30)
        appendLength(length)
        append(topic)
        // No properties.
        if version == .five { bytes.append(0) }
        bytes += message.payload
        return true
    }

    /// Sends as much as the socket accepts.
    /// - Returns: 0, or the error number of a failed connection.
    mutating func send(to descriptor: Int32) -> Int32 {
        while !isEmpty {
            let count = bytes.withUnsafeBytes { bytes in
                Glibc.send(
                    descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN {
                return 0
            } else if errno != EINTR {
                return errno
            }
        }
        sent = 0
        bytes.removeAll(keepingCapacity: bytes.count <= Self.maxKeptCapacity)
        return 0
    }

    /// The size of the memory that is kept for the next packets.
    private static let maxKeptCapacity = 262_144

    private mutating func appendLength(_ length: Int) {
        var rest = length
        repeat {
            bytes.append(UInt8(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
    }

    /// Appends a text with its length.
    private mutating func append(_ text: String.UTF8View) {
        bytes.append(UInt8(text.count >> 8))
        bytes.append(UInt8(text.count & 0xff))
        bytes.append(contentsOf: text)
    }
}
