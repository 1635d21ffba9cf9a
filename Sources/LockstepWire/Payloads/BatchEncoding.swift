public import FoundationEssentials
public import LockstepModel

/// How the batches of an agent are written. A reader takes both.
public enum BatchEncoding: String, Sendable, CaseIterable {
    /// Readable by anyone.
    case json
    /// Under a quarter of the bytes.
    case cbor

    /// What MQTT 5 tells a reader beside the payload.
    public var contentType: String { "application/\(rawValue)" }

    /// The encoding of a payload.
    /// - Parameter contentType: as MQTT 5 tells it. Where it is nil, or none of these, the first byte tells: JSON begins
    ///   with a brace or with white space, and a map of CBOR with a byte from 0xA0 to 0xBF.
    public init(of payload: some Collection<UInt8>, contentType: String? = nil) {
        self =
            BatchEncoding.allCases.first { $0.contentType == contentType }
            ?? (payload.first.map { (0xa0...0xbf).contains($0) } == true ? .cbor : .json)
    }

    public func encode(_ batch: Batch) -> [UInt8] {
        switch self {
        case .json: BatchJSON.encode(batch)
        case .cbor: BatchCBOR.encode(batch)
        }
    }

    /// Reads a batch of `stream` in either encoding.
    /// - Parameter contentType: as MQTT 5 tells it, else nil.
    /// - Throws: ``PayloadError`` with the reason, and with the batch's number where it could be read.
    public static func decode(
        _ payload: Data, contentType: String? = nil, stream: SensorStream, limits: PayloadLimits = PayloadLimits()
    ) throws(PayloadError) -> Batch {
        try payload.withUnsafeBytes { bytes in
            Result { () throws(PayloadError) in
                try decode(bytes, contentType: contentType, stream: stream, limits: limits)
            }
        }.get()
    }

    /// Reads a batch of `stream` in either encoding, where its bytes are lent for the call.
    /// - Parameter contentType: as MQTT 5 tells it, else nil.
    /// - Throws: ``PayloadError`` with the reason, and with the batch's number where it could be read.
    public static func decode(
        _ payload: UnsafeRawBufferPointer, contentType: String?, stream: SensorStream, limits: PayloadLimits
    ) throws(PayloadError) -> Batch {
        switch BatchEncoding(of: payload, contentType: contentType) {
        case .json: try BatchJSON.decode(payload, stream: stream, limits: limits)
        case .cbor: try BatchCBOR.decode(payload, stream: stream, limits: limits)
        }
    }

    /// A live batch as encoded, with `"live":false`: how one that was kept is sent late or again.
    public static func markingLate(_ payload: [UInt8]) -> [UInt8] {
        switch BatchEncoding(of: payload) {
        case .json: BatchJSON.markingLate(payload)
        case .cbor: BatchCBOR.markingLate(payload)
        }
    }
}
