public import FoundationEssentials
public import LockstepModel

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
        return try decodeAny(payload, stream: stream, limits: limits)
    }

    /// Decodes a batch in any JSON form. Slower than ``decodeCanonical(_:stream:limits:)``.
    /// - Throws: ``PayloadError`` with the reason and, if it could be read, the batch's position.
    package static func decodeAny(
        _ payload: UnsafeRawBufferPointer, stream: SensorStream, limits: PayloadLimits
    ) throws(PayloadError) -> Batch {
        let object = try JSONMembers(payload)
        try BatchRules.checkVersion(try object.optional("v") ?? BatchRules.version)
        let position = try BatchRules.position(epoch: object.optional("epoch"), seq: object.optional("seq"))
        do {
            let isLive = try object.optional("live") ?? true
            let columns = try stream.columns.map { column throws(PayloadError) in
                try values(of: column, in: object, limits: limits)
            }
            let samples = try BatchRules.samples(
                of: stream, first: try object.optional("t"),
                intervals: { count throws(PayloadError) in try intervals(in: object, count: count) }, columns: columns)
            return Batch(position: position, isLive: isLive, samples: samples)
        } catch {
            var reason = error
            reason.position = position
            throw reason
        }
    }

    /// Returns the intervals between `count` samples (`dt`), in µs.
    private static func intervals(in object: JSONMembers, count: Int) throws(PayloadError) -> [Int64] {
        if let interval: Int64 = try? object.required("dt") { return Array(repeating: interval, count: count - 1) }
        return try object.required("dt")
    }

    private static func values(
        of column: SensorStream.Column, in object: JSONMembers, limits: PayloadLimits
    ) throws(PayloadError) -> [Double]? {
        guard object.contains(column.name) || column.isRequired else { return nil }
        let values: [Double?]
        if case .choice(let words) = column.kind {
            let texts: [String?] = try object.required(column.name)
            values = try texts.map { word throws(PayloadError) in
                guard let word else { return nil }
                return try BatchRules.value(word, of: column, words: words)
            }
        } else {
            values = try object.required(column.name)
        }
        try BatchRules.checkSampleCount(values.count, limits: limits)
        return try values.map { value throws(PayloadError) in try BatchRules.value(value, of: column) }
    }
}
