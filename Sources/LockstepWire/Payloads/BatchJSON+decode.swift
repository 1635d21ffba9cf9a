public import FoundationEssentials
public import LockstepModel
import Synchronization

/// How large a payload may be.
public struct PayloadLimits: Sendable, Hashable {
    /// Bytes of one payload.
    public var bytes: Int
    /// Samples of one batch.
    public var samples: Int

    public init(bytes: Int = 1 << 20, samples: Int = 10_000) {
        self.bytes = bytes
        self.samples = samples
    }
}

extension BatchJSON {
    /// Reads a batch of `stream`. Keys that are not known are passed over.
    /// - Throws: ``PayloadError`` with the reason, and with the batch's number where it could be read.
    public static func decode(
        _ payload: Data, stream: SensorStream, limits: PayloadLimits = PayloadLimits()
    ) throws(PayloadError) -> Batch {
        // The closure of `withUnsafeBytes` can't throw this type, so the error comes out as a value.
        let result = payload.withUnsafeBytes { bytes in
            Result { () throws(PayloadError) in try decode(bytes, stream: stream, limits: limits) }
        }
        return try result.get()
    }

    /// Reads a batch of `stream`. Keys that are not known are passed over.
    /// - Throws: ``PayloadError`` with the reason, and with the batch's number where it could be read.
    public static func decode(
        _ payload: UnsafeRawBufferPointer, stream: SensorStream, limits: PayloadLimits = PayloadLimits()
    ) throws(PayloadError) -> Batch {
        guard payload.count <= limits.bytes else {
            throw PayloadError("\(payload.count) bytes: a payload has at most \(limits.bytes)")
        }
        if let batch = decodeCanonical(payload, stream: stream, limits: limits) { return batch }
        return try decodeAny(Data(payload), stream: stream, limits: limits)
    }

    /// Reads whatever form JSON allows, and finds the reason where it is wrong.
    package static func decodeAny(
        _ payload: Data, stream: SensorStream, limits: PayloadLimits
    ) throws(PayloadError) -> Batch {
        // The decoder itself does not look into what nobody asks for.
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
    // A key made of a text is never nil.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let stream = CodingUserInfoKey(rawValue: "stream")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let limits = CodingUserInfoKey(rawValue: "limits")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let position = CodingUserInfoKey(rawValue: "position")!
}

/// Carries the batch's number out of a decoding that fails later.
private final class PositionBox: Sendable {
    private let position = Mutex<BatchPosition?>(nil)

    var value: BatchPosition? {
        get { position.withLock { $0 } }
        set { position.withLock { $0 = newValue } }
    }
}

private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

extension KeyedDecodingContainer<Key> {
    /// A whole number; nil where there is none.
    ///
    /// Foundation calls a number that is not whole, or too large, broken JSON.
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
        else { preconditionFailure("BatchJSON.decode sets these") }
        let object = try decoder.container(keyedBy: Key.self)

        let version = try object.wholeNumber("v") ?? BatchJSON.version
        guard version <= BatchJSON.version else {
            throw PayloadError(
                "payload version \(version) is newer than this program knows (\(BatchJSON.version)): upgrade it",
                mayPass: true)
        }
        guard version >= 1 else { throw PayloadError("'v' is \(version): versions start at 1") }

        box.value = try Self.position(in: object)
        let isLive = try object.decodeIfPresent(Bool.self, forKey: Key("live")) ?? true
        let columns = try stream.columns.map { try Self.column($0, in: object, limits: limits) }
        guard let count = columns.compactMap({ $0?.count }).first, count > 0 else {
            throw PayloadError("there is no sample in it")
        }
        for (column, values) in zip(stream.columns, columns) {
            if let values, values.count != count {
                throw PayloadError("'\(column.name)' has \(values.count) values where another column has \(count)")
            }
        }
        batch = Batch(
            position: box.value, isLive: isLive,
            samples: SampleBlock(
                stream: stream, times: try Self.times(in: object, count: count),
                columns: columns.map { $0 ?? Array(repeating: .nan, count: count) }))
    }

    private static func position(in object: KeyedDecodingContainer<Key>) throws -> BatchPosition? {
        let epoch = try object.decodeIfPresent(String.self, forKey: Key("epoch"))
        let seq = try object.wholeNumber("seq")
        switch (epoch, seq) {
        case (nil, nil): return nil
        case (let epoch?, let seq?):
            guard seq >= 1 else { throw PayloadError("'seq' is \(seq): batches are numbered from 1") }
            guard seq < maximumInteger else { throw PayloadError("'seq' is too large") }
            do {
                return BatchPosition(epoch: try Epoch(validating: epoch), seq: seq)
            } catch { throw PayloadError(error.description) }
        default: throw PayloadError("'epoch' and 'seq' go together: send both or neither")
        }
    }

    private static func times(in object: KeyedDecodingContainer<Key>, count: Int) throws -> [Int64] {
        guard let first = try object.wholeNumber("t") else { throw PayloadError("'t' is missing") }
        var steps: [Int64] = []
        if count > 1 {
            if let step = try? object.decode(Int64.self, forKey: Key("dt")) {
                steps = Array(repeating: step, count: count - 1)
            } else {
                steps = try object.decode([Int64].self, forKey: Key("dt"))
            }
        }
        guard steps.count == count - 1 else {
            throw PayloadError("'dt' has \(steps.count) steps for \(count) samples: it takes \(count - 1)")
        }
        var times = [first]
        times.reserveCapacity(count)
        for step in steps {
            guard step > 0 else { throw PayloadError("'dt' has \(step): times must strictly increase") }
            let (time, overflow) = times[times.count - 1].addingReportingOverflow(step)
            guard !overflow else { throw PayloadError("'dt' leads beyond the end of time") }
            times.append(time)
        }
        guard first >= 0, times[times.count - 1] < maximumInteger else {
            throw PayloadError("'t' is \(first): it counts µs since 1970")
        }
        return times
    }

    private static func column(
        _ column: SensorStream.Column, in object: KeyedDecodingContainer<Key>, limits: PayloadLimits
    ) throws -> [Double]? {
        let key = Key(column.name)
        guard object.contains(key) || column.isRequired else { return nil }
        let values: [Double?]
        if case .choice(let words) = column.kind {
            values = try object.decode([String?].self, forKey: key).map { word in
                guard let word else { return nil }
                guard let index = words.firstIndex(of: word) else {
                    throw PayloadError("'\(column.name)' has '\(word.prefix(40))': known are \(words)")
                }
                return Double(index)
            }
        } else {
            values = try object.decode([Double?].self, forKey: key)
        }
        guard values.count <= limits.samples else {
            throw PayloadError("\(values.count) samples: a batch has at most \(limits.samples)")
        }
        return try values.map { value in
            guard let value else {
                guard !column.isRequired else { throw PayloadError("'\(column.name)' has a null") }
                return .nan
            }
            guard value.isFinite else { throw PayloadError("'\(column.name)' has a value that is not finite") }
            if column.kind == .integer, value.rounded() != value || abs(value) >= Double(maximumInteger) {
                throw PayloadError("'\(column.name)' has \(value), which is not a whole number")
            }
            return value
        }
    }
}

/// Whole numbers stay exact in a double, and so in JavaScript, below this one: 2⁵³.
let maximumInteger: Int64 = 1 << 53
