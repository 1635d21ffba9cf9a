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

    /// Returns the payload of a numbered batch: its head before the samples of `body`.
    ///
    /// The result is what ``encode(_:)`` writes for the batch. So a sender can keep bodies, and number them when it publishes.
    /// - Parameters:
    ///   - body: a live batch without a position that ``encode(_:)`` wrote. Its stream need not be known. Anything else is
    ///     returned unchanged, and a collector refuses it.
    ///   - isLive: whether the batch is sent for the first time and without delay.
    public static func payload(of body: [UInt8], at position: BatchPosition, isLive: Bool) -> [UInt8] {
        switch BatchEncoding(of: body) {
        case .json:
            let start = "{\"v\":\(BatchRules.version),"
            guard body.starts(with: start.utf8) else { return body }
            let live = isLive ? "" : "\"live\":false,"
            let head = start + "\"epoch\":\"\(position.epoch)\",\"seq\":\(position.seq)," + live
            return Array(head.utf8) + body[start.utf8.count...]
        case .cbor:
            return body.withUnsafeBytes { bytes in
                var reader = CBORReader(bytes)
                var version = CBORWriter(reservingCapacity: 8)
                version.text("v")
                version.integer(BatchRules.version)
                guard case .map(let count)? = try? reader.next(),
                    bytes.dropFirst(reader.offset).starts(with: version.bytes)
                else { return body }
                var writer = CBORWriter(reservingCapacity: body.count + 64)
                writer.map(count + (isLive ? 2 : 3))
                writer.text("v")
                writer.integer(BatchRules.version)
                writer.text("epoch")
                writer.text(position.epoch.rawValue)
                writer.text("seq")
                writer.integer(position.seq)
                if !isLive {
                    writer.text("live")
                    writer.bool(false)
                }
                return writer.bytes + bytes[(reader.offset + version.bytes.count)...]
            }
        }
    }
}
