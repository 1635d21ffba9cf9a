public import FoundationEssentials
public import LockstepModel

/// An encoding of batches. An agent writes one of them, and decoders accept both.
public enum BatchEncoding: String, Sendable, CaseIterable {
    /// JSON, which is human-readable.
    case json
    /// Columnar CBOR, which is less than a quarter of the size of JSON.
    case cbor

    /// The MQTT 5 content type of the encoding.
    public var contentType: String { "application/\(rawValue)" }

    /// Detects the encoding of a payload.
    /// - Parameter contentType: the MQTT 5 content type. If it is nil or unknown, the first byte decides: JSON starts with
    ///   a brace or white space, a CBOR map with a byte from 0xA0 to 0xBF.
    public init(of payload: some Collection<UInt8>, contentType: String? = nil) {
        self =
            BatchEncoding.allCases.first { $0.contentType == contentType }
            ?? (payload.first.map { (0xa0...0xbf).contains($0) } == true ? .cbor : .json)
    }

    /// Encodes a batch.
    public func encode(_ batch: Batch) -> [UInt8] {
        switch self {
        case .json: BatchJSON.encode(batch)
        case .cbor: BatchCBOR.encode(batch)
        }
    }

    /// Decodes a batch of `stream` in either encoding.
    /// - Parameter contentType: the MQTT 5 content type, or nil if there is none.
    /// - Throws: ``PayloadError`` with the reason and, if it could be read, the batch's position.
    public static func decode(
        _ payload: Data, contentType: String? = nil, stream: SensorStream, limits: PayloadLimits = PayloadLimits()
    ) throws(PayloadError) -> Batch {
        try payload.withUnsafeBytes { bytes in
            Result { () throws(PayloadError) in
                try decode(bytes, contentType: contentType, stream: stream, limits: limits)
            }
        }.get()
    }

    /// Decodes a batch of `stream` in either encoding. `payload` must be valid during the call only.
    /// - Parameter contentType: the MQTT 5 content type, or nil if there is none.
    /// - Throws: ``PayloadError`` with the reason and, if it could be read, the batch's position.
    public static func decode(
        _ payload: UnsafeRawBufferPointer, contentType: String?, stream: SensorStream, limits: PayloadLimits
    ) throws(PayloadError) -> Batch {
        switch BatchEncoding(of: payload, contentType: contentType) {
        case .json: try BatchJSON.decode(payload, stream: stream, limits: limits)
        case .cbor: try BatchCBOR.decode(payload, stream: stream, limits: limits)
        }
    }

    /// Returns the encoded live batch `payload` with `"live":false` added, for sending it late or again.
    /// - Precondition: `payload` is a live batch that ``encode(_:)`` wrote.
    public static func markingLate(_ payload: [UInt8]) -> [UInt8] {
        switch BatchEncoding(of: payload) {
        case .json: BatchJSON.markingLate(payload)
        case .cbor: BatchCBOR.markingLate(payload)
        }
    }
}
