internal import SwiftProtobuf

/// The payload of a Sparkplug B message.
public struct SparkplugPayload: Sendable, Hashable {
    /// The maximum number of metrics of a message. In memory a metric takes many times the two bytes that an empty one
    /// takes in a message.
    public static let maxMetrics = 50_000

    /// The time of the message in ms since 1970.
    public var time: Int64?
    /// The metrics.
    public var metrics: [SparkplugMetric]
    /// The number of the message, which counts from 0 to 255 and again from 0 over all messages of a node and its
    /// devices.
    public var number: UInt8?

    /// Creates a payload.
    public init(time: Int64? = nil, metrics: [SparkplugMetric], number: UInt8? = nil) {
        self.time = time
        self.metrics = metrics
        self.number = number
    }

    /// Decodes a payload.
    /// - Throws: ``SparkplugError`` if the bytes are no payload.
    public init(decoding bytes: [UInt8]) throws(SparkplugError) {
        guard let (count, identifier) = Self.outline(bytes) else {
            throw SparkplugError("the payload is not Sparkplug B")
        }
        guard identifier != Self.compressed else {
            throw SparkplugError(
                "the payload is compressed (\(Self.compressed)), which is not supported: switch off the compression of the "
                    + "node")
        }
        guard count <= Self.maxMetrics else {
            throw SparkplugError("the message has \(count) metrics, more than \(Self.maxMetrics)")
        }
        var options = BinaryDecodingOptions()
        options.discardUnknownFields = true
        let wire: WirePayload
        do { wire = try WirePayload(serializedBytes: bytes, options: options) } catch {
            throw SparkplugError("the payload is not Sparkplug B: \(error)")
        }
        // A time beyond the range must not be taken for no time.
        time = wire.hasSentAt ? Int64(clamping: wire.sentAt) : nil
        if wire.hasNumber {
            guard let value = UInt8(exactly: wire.number) else {
                throw SparkplugError("the number \(wire.number) of the message is above 255")
            }
            number = value
        }
        metrics = wire.metrics.map { SparkplugMetric($0) }
    }

    /// Returns the encoded payload.
    public func encoded() -> [UInt8] {
        var wire = WirePayload()
        if let time { wire.sentAt = UInt64(clamping: time) }
        if let number { wire.number = UInt64(number) }
        wire.metrics = metrics.map(\.wire)
        // It fails only for required fields without a value, and beyond 2 GB. The schema has no required fields.
        return (try? wire.serializedBytes()) ?? []
    }

    /// The identifier (`uuid`) of a payload whose body is another payload, compressed, as Eclipse Tahu writes it.
    private static let compressed = "SPBV1.0_COMPRESSED"

    /// Returns the number of metrics without decoding them, and the identifier of the payload; nil if the bytes are damaged.
    private static func outline(_ bytes: [UInt8]) -> (metrics: Int, identifier: String?)? {
        var index = 0
        var count = 0
        var identifier: String?
        func varint() -> UInt64? {
            var value: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 70, by: 7) {
                guard index < bytes.count else { return nil }
                let byte = bytes[index]
                index += 1
                value |= UInt64(byte & 0x7f) << shift
                if byte < 0x80 { return value }
            }
            return nil
        }
        while index < bytes.count {
            guard let tag = varint() else { return nil }
            var length = 0
            switch tag & 7 {
            case 0: if varint() == nil { return nil }
            case 1: length = 8
            case 2:
                guard let size = varint().flatMap({ Int(exactly: $0) }) else { return nil }
                length = size
                if tag >> 3 == 2 { count += 1 }
            case 5: length = 4
            default: return nil
            }
            guard length <= bytes.count - index else { return nil }
            if tag == 4 << 3 | 2 { identifier = String(decoding: bytes[index..<index + length], as: UTF8.self) }
            index += length
        }
        return (count, identifier)
    }

    /// The number that births and deaths share; nil if there is none.
    public var deathNumber: Int64? {
        for metric in metrics where metric.name == SparkplugMetric.deathNumberName {
            if case .whole(let bits) = metric.value { return Int64(exactly: bits) }
        }
        return nil
    }

    /// Whether the payload asks a node for new birth messages.
    public var requestsRebirth: Bool {
        metrics.contains { $0.name == SparkplugMetric.rebirthName && $0.value == .truth(true) }
    }
}

/// The error thrown for a payload that cannot be read.
public struct SparkplugError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public let description: String
    init(_ description: String) { self.description = description }
}
