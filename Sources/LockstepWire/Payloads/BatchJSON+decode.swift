public import FoundationEssentials
public import LockstepModel
import Synchronization

extension BatchJSON {
    /// Decodes a batch of `stream`. Unknown keys are ignored.
    /// - Throws: ``PayloadError`` with the reason and, if it could be read, the batch's position.
    public static func decode(
        _ payload: Data, stream: SensorStream, limits: PayloadLimits = PayloadLimits()
    ) throws(PayloadError) -> Batch {
        try payload.withUnsafeBytes { bytes in
            Result { () throws(PayloadError) in try decode(bytes, stream: stream, limits: limits) }
        }.get()
    }

    /// Decodes a batch of `stream`. Unknown keys are ignored. `payload` only has to be valid during the call.
    /// - Throws: ``PayloadError`` with the reason and, if it could be read, the batch's position.
    public static func decode(
        _ payload: UnsafeRawBufferPointer, stream: SensorStream, limits: PayloadLimits = PayloadLimits()
    ) throws(PayloadError) -> Batch {
        try BatchRules.checkSize(payload.count, limits: limits)
        if let batch = decodeCanonical(payload, stream: stream, limits: limits) { return batch }
        return try decodeAny(Data(payload), stream: stream, limits: limits)
    }

    /// Decodes a batch in any JSON form. Slower than ``decodeCanonical(_:stream:limits:)``.
    /// - Throws: ``PayloadError`` with the reason and, if it could be read, the batch's position.
    package static func decodeAny(
        _ payload: Data, stream: SensorStream, limits: PayloadLimits
    ) throws(PayloadError) -> Batch {
        // Check UTF-8 here: the decoder does not validate the values of unknown keys.
        guard payload.withUnsafeBytes({ String(validating: $0, as: UTF8.self) != nil }) else {
            throw PayloadError.notJSON
        }
        let decoder = JSONDecoder()
        let position = PositionBox()
        decoder.userInfo = [.stream: stream, .limits: limits, .position: position]
        do {
            return try decoder.decode(DecodedBatch.self, from: payload).batch
        } catch {
            var reason = PayloadError(decoding: error)
            reason.position = position.value
            throw reason
        }
    }
}

extension CodingUserInfoKey {
    // Creating a key from a string never fails.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let stream = CodingUserInfoKey(rawValue: "stream")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let limits = CodingUserInfoKey(rawValue: "limits")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let position = CodingUserInfoKey(rawValue: "position")!
}

/// A box that returns the position of a batch from a decoder that throws after decoding the position.
private final class PositionBox: Sendable {
    private let position = Mutex<BatchPosition?>(nil)

    var value: BatchPosition? {
        get { position.withLock { $0 } }
        set { position.withLock { $0 = newValue } }
    }
}

/// A key with any name: the names depend on the stream.
private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

extension KeyedDecodingContainer<Key> {
    /// Decodes a whole number, or nil if it is missing or null.
    ///
    /// Foundation reports a fractional or too large number as invalid JSON; this method gives a better reason.
    fileprivate func wholeNumber(_ name: String) throws -> Int64? {
        let key = Key(name)
        do { return try decodeIfPresent(Int64.self, forKey: key) } catch {
            guard (try? decode(Double.self, forKey: key)) != nil else { throw error }
            throw PayloadError("'\(name)' is not a whole number")
        }
    }
}

private struct DecodedBatch: Decodable {
    let batch: Batch

    init(from decoder: any Decoder) throws {
        guard let stream = decoder.userInfo[.stream] as? SensorStream,
            let limits = decoder.userInfo[.limits] as? PayloadLimits,
            let box = decoder.userInfo[.position] as? PositionBox
        else { preconditionFailure("BatchJSON.decodeAny sets these keys") }
        let object = try decoder.container(keyedBy: Key.self)

        try BatchRules.checkVersion(try object.wholeNumber("v") ?? BatchRules.version)
        box.value = try BatchRules.position(
            epoch: try object.decodeIfPresent(String.self, forKey: Key("epoch")), seq: try object.wholeNumber("seq"))
        let isLive = try object.decodeIfPresent(Bool.self, forKey: Key("live")) ?? true
        let columns = try stream.columns.map { try Self.column($0, in: object, limits: limits) }
        batch = Batch(
            position: box.value, isLive: isLive,
            samples: try BatchRules.samples(
                of: stream, first: try object.wholeNumber("t"),
                intervals: { count throws(PayloadError) in try Self.intervals(in: object, count: count) },
                columns: columns))
    }

    /// Returns the intervals between `count` samples (`dt`), in µs.
    private static func intervals(
        in object: KeyedDecodingContainer<Key>, count: Int
    ) throws(PayloadError) -> [Int64] {
        do {
            if let interval = try? object.decode(Int64.self, forKey: Key("dt")) {
                return Array(repeating: interval, count: count - 1)
            }
            return try object.decode([Int64].self, forKey: Key("dt"))
        } catch { throw PayloadError(decoding: error) }
    }

    private static func column(
        _ column: SensorStream.Column, in object: KeyedDecodingContainer<Key>, limits: PayloadLimits
    ) throws -> [Double]? {
        let key = Key(column.name)
        guard object.contains(key) || column.isRequired else { return nil }
        let values: [Double?]
        if case .choice(let words) = column.kind {
            values = try object.decode([String?].self, forKey: key).map { word in
                try word.map { try BatchRules.value($0, of: column, words: words) }
            }
        } else {
            values = try object.decode([Double?].self, forKey: key)
        }
        try BatchRules.checkSampleCount(values.count, limits: limits)
        return try values.map { try BatchRules.value($0, of: column) }
    }
}
