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
    /// - Parameter contentType: the MQTT 5 content type. If it is nil or unknown, the first byte decides: JSON starts
    ///   with a brace or white space, a CBOR map with a byte from 0xA0 to 0xBF.
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

    /// Decodes a batch of `stream` in either encoding. `payload` only has to be valid during the call.
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

    /// Returns the position of a batch whose stream is unknown, or nil if it has none or is not a batch. `payload` only has to
    /// be valid during the call.
    public static func position(
        of payload: UnsafeRawBufferPointer, contentType: String?, limits: PayloadLimits
    ) -> BatchPosition? {
        // The position is read before the samples, which are not read without columns.
        guard let stream = SensorStream.undeclared(SensorStream.declaredPrefix + "unknown") else { return nil }
        do throws(PayloadError) {
            return try decode(payload, contentType: contentType, stream: stream, limits: limits).position
        } catch {
            return error.position
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

    /// Returns the encoded batch `payload` with another position, and everything else unchanged. The stream need not be
    /// known.
    /// - Returns: nil if `payload` is not a live batch at position `old` that ``encode(_:)`` wrote.
    package static func renumbering(
        _ payload: [UInt8], from old: BatchPosition, to new: BatchPosition
    ) -> [UInt8]? {
        let encoding = BatchEncoding(of: payload)
        // The head of a CBOR map is its number of members, which does not change.
        let start = encoding == .json ? 0 : mapHeadLength(payload)
        let head = encoding.members(of: old)
        guard payload.dropFirst(start).starts(with: head) else { return nil }
        return payload[..<start] + encoding.members(of: new) + payload[(start + head.count)...]
    }

    private static func mapHeadLength(_ payload: [UInt8]) -> Int {
        payload.withUnsafeBytes { bytes in
            var reader = CBORReader(bytes)
            return (try? reader.next()) == nil ? 0 : reader.offset
        }
    }

    /// The first members of a batch at `position`.
    private func members(of position: BatchPosition) -> [UInt8] {
        switch self {
        case .json:
            return Array("{\"v\":\(BatchRules.version),\"epoch\":\"\(position.epoch)\",\"seq\":\(position.seq),".utf8)
        case .cbor:
            var writer = CBORWriter(reservingCapacity: 64)
            writer.text("v")
            writer.integer(BatchRules.version)
            writer.text("epoch")
            writer.text(position.epoch.rawValue)
            writer.text("seq")
            writer.integer(position.seq)
            return writer.bytes
        }
    }
}
