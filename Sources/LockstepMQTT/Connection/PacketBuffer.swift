import CMosquitto
import Glibc

/// PUBLISH packets with QoS 0 that may overtake others, and are sent with one system call.
///
/// libmosquitto copies and reports each packet, and makes two system calls for it. A collector sends thousands of
/// acknowledgements a second, for which this would take several times as long as creating them.
struct PacketBuffer {
    /// The packets that are being sent. New packets are collected in another array, so that this memory is released
    /// when these are sent, also if new ones arrive all the time.
    private var sending: [UInt8] = []
    /// The number of bytes of ``sending`` that were sent.
    private var sent = 0
    /// The end of the last packet of ``sending`` that was sent, completely or in part.
    private var startedEnd = 0
    private var queued: [UInt8] = []

    /// The largest value of the length field of a packet.
    private static let maxLength = 268_435_455

    /// Whether all packets were sent.
    var isEmpty: Bool { sent == sending.count && queued.isEmpty }

    /// Whether a packet was sent in part. Nothing else can be sent before its rest.
    var hasPartlySentPacket: Bool { sent < startedEnd }

    /// Appends a message.
    /// - Parameter maxSize: the size of the largest packet that the broker accepts, in bytes, or nil.
    /// - Returns: false if the message needs a packet of another type, or is not valid. Nothing is appended then.
    mutating func append(_ message: MQTTMessage, version: MQTTVersion, maxSize: Int?) -> Bool {
        let topic = message.topic.utf8
        guard message.qos == .atMostOnce, message.contentType == nil, Self.isValid(message.topic) else { return false }
        let length = 2 + topic.count + (version == .five ? 1 : 0) + message.payload.count
        let size = 1 + Self.lengthSize(length) + length
        guard length <= Self.maxLength, size <= maxSize ?? .max else { return false }

        queued.append(message.isRetained ? 0x31 : 0x30)
        appendLength(length)
        append(topic)
        // No properties.
        if version == .five { queued.append(0) }
        queued += message.payload
        return true
    }

    /// Sends as much of the packets as the socket accepts.
    /// - Returns: 0, or the error number of a failed connection.
    mutating func send(to descriptor: Int32) -> Int32 {
        while !isEmpty {
            if sent == sending.count { takeQueued() }
            let error = send(to: descriptor, until: sending.count)
            guard error == 0, sent == sending.count else { return error }
        }
        takeQueued()
        return 0
    }

    /// Sends as much of the rest of the packet that was sent in part as the socket accepts.
    /// - Returns: 0, or the error number of a failed connection.
    mutating func sendRest(to descriptor: Int32) -> Int32 { send(to: descriptor, until: startedEnd) }

    private mutating func send(to descriptor: Int32, until end: Int) -> Int32 {
        defer { updateStartedEnd() }
        while sent < end {
            let count = sending.withUnsafeBytes { bytes in
                Glibc.send(descriptor, bytes.baseAddress.map { $0 + sent }, end - sent, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN {
                return 0
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Begins to send the queued packets. All others must have been sent.
    private mutating func takeQueued() {
        sending.removeAll(keepingCapacity: sending.count <= Self.maxKeptCapacity)
        swap(&sending, &queued)
        (sent, startedEnd) = (0, 0)
    }

    private mutating func updateStartedEnd() {
        if sent == sending.count { startedEnd = sent }
        while startedEnd < sent {
            var position = startedEnd + 1
            var length = 0
            var shift = 0
            while sending[position] >= 0x80 {
                length |= Int(sending[position] & 0x7f) << shift
                shift += 7
                position += 1
            }
            length |= Int(sending[position]) << shift
            startedEnd = position + 1 + length
        }
    }

    /// The size of the memory that is kept for the next packets.
    private static let maxKeptCapacity = 262_144

    /// Returns whether libmosquitto accepts a topic.
    private static func isValid(_ topic: String) -> Bool {
        let size = topic.utf8.count
        return (1...65_535).contains(size)
            && mosquitto_pub_topic_check2(topic, size) == MOSQ_ERR_SUCCESS.rawValue
            && mosquitto_validate_utf8(topic, Int32(size)) == MOSQ_ERR_SUCCESS.rawValue
    }

    /// Returns the number of bytes of the length field of a packet.
    private static func lengthSize(_ length: Int) -> Int {
        var size = 1
        while length >> (7 * size) > 0 { size += 1 }
        return size
    }

    private mutating func appendLength(_ length: Int) {
        var rest = length
        repeat {
            queued.append(UInt8(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
    }

    /// Appends a text with its length.
    private mutating func append(_ text: String.UTF8View) {
        queued.append(UInt8(text.count >> 8))
        queued.append(UInt8(text.count & 0xff))
        queued.append(contentsOf: text)
    }
}
