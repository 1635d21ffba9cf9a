import CMosquitto
import Glibc

/// A received message.
///
/// The memory belongs to libmosquitto and is valid only until the message handler returns.
public struct IncomingMessage {
    /// The topic in UTF-8.
    public let topicBytes: UnsafeRawBufferPointer
    /// The payload.
    public let payload: UnsafeRawBufferPointer
    /// Whether this is a retained message that the broker sends because of a new subscription.
    public let isRetained: Bool
    /// Whether the broker expects a PUBACK (QoS 1).
    public let needsAcknowledgement: Bool
    private let properties: OpaquePointer?
    private let copiedContentType: String?

    init(
        topicBytes: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, isRetained: Bool,
        needsAcknowledgement: Bool = true, properties: OpaquePointer? = nil, contentType: String? = nil
    ) {
        self.topicBytes = topicBytes
        self.payload = payload
        self.isRetained = isRetained
        self.needsAcknowledgement = needsAcknowledgement
        self.properties = properties
        copiedContentType = contentType
    }

    /// The topic.
    public var topic: String { String(decoding: topicBytes, as: UTF8.self) }

    /// The content type of the payload, such as `application/cbor`; nil if the sender did not set it. Requires MQTT 5.
    public var contentType: String? {
        if let copiedContentType { return copiedContentType }
        // The library returns a copy that the caller must free.
        var text: UnsafeMutablePointer<CChar>?
        guard mosquitto_property_read_string(properties, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), &text, false) != nil,
            let text
        else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}

/// A copy of a received message, which may be kept.
public struct CopiedMessage: Sendable {
    private let topic: [UInt8]
    private let payload: [UInt8]
    private let isRetained: Bool
    private let needsAcknowledgement: Bool
    private let contentType: String?

    /// Copies a message.
    public init(_ message: IncomingMessage) {
        topic = Array(message.topicBytes)
        payload = Array(message.payload)
        isRetained = message.isRetained
        needsAcknowledgement = message.needsAcknowledgement
        contentType = message.contentType
    }

    /// Calls `body` with the message, which is valid only until `body` returns.
    public func withMessage(_ body: (IncomingMessage) -> Void) {
        topic.withUnsafeBytes { topic in
            payload.withUnsafeBytes { payload in
                body(
                    IncomingMessage(
                        topicBytes: topic, payload: payload, isRetained: isRetained,
                        needsAcknowledgement: needsAcknowledgement, contentType: contentType))
            }
        }
    }
}
