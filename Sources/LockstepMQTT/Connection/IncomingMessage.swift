import CMosquitto
import Glibc

/// A message that came in. All of it is the library's memory, valid only while the handler runs.
public struct IncomingMessage {
    /// The topic in UTF-8.
    public let topicBytes: UnsafeRawBufferPointer
    public let payload: UnsafeRawBufferPointer
    public let isRetained: Bool
    /// Whether the broker waits for its acknowledgement (QoS 1).
    public let needsAcknowledgement: Bool
    private let properties: OpaquePointer?

    init(
        topicBytes: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, isRetained: Bool,
        needsAcknowledgement: Bool = true, properties: OpaquePointer? = nil
    ) {
        self.topicBytes = topicBytes
        self.payload = payload
        self.isRetained = isRetained
        self.needsAcknowledgement = needsAcknowledgement
        self.properties = properties
    }

    public var topic: String { String(decoding: topicBytes, as: UTF8.self) }

    /// What its sender says that the payload is; nil where it does not, as before MQTT 5.
    public var contentType: String? {
        // The library makes a copy, which is ours to free.
        var text: UnsafeMutablePointer<CChar>?
        guard mosquitto_property_read_string(properties, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), &text, false) != nil,
            let text
        else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}
