public import FoundationEssentials
public import LockstepModel

/// The JSON encoding of a request to delete samples: `{"id":"3f2a","from":1700000000000000,"to":1700000060000000}`, with the
/// optional members `stream`, `who`, `reason`, `secure` and `only_refuse`. The device is part of the topic.
public enum DeletionJSON {
    /// The maximum length of `id`, `stream` and `who`, in bytes.
    public static let maxNameBytes = 128
    /// The maximum length of `reason`, in bytes.
    public static let maxReasonBytes = 1000

    /// Encodes a request.
    public static func encode(_ deletion: Deletion) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("id", deletion.id)
        object.member("stream", ifPresent: deletion.stream)
        object.member("from", deletion.times.lowerBound)
        object.member("to", deletion.times.upperBound)
        object.member("who", ifPresent: deletion.who)
        object.member("reason", ifPresent: deletion.reason)
        if deletion.isSecure { object.member("secure", true) }
        if deletion.onlyRefuses { object.member("only_refuse", true) }
        return object.finish()
    }

    /// The greatest time in the future up to which samples are deleted, in µs: a day.
    static let maxFuture: Int64 = 86_400_000_000

    /// Decodes a request.
    /// - Parameters:
    ///   - device: the device of the topic.
    ///   - now: the time of receipt.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(
        _ payload: Data, of device: DeviceAddress, at now: Timestamp
    ) throws(PayloadError) -> Deletion {
        let object = try JSONMembers(payload)
        let (from, to): (Int64, Int64) = (try object.required("from"), try object.required("to"))
        guard from < to, from >= Deletion.earliest, to <= Deletion.latest else {
            throw PayloadError("'from' must be before 'to', both in µs since 1970")
        }
        // Otherwise what the device measures later would be lost. Its clock may be ahead.
        let end = max(from + 1, min(to, now.microseconds + maxFuture))
        let deletion = Deletion(
            id: try object.required("id"), device: device, stream: try object.optional("stream"), times: from..<end,
            at: now, who: try object.optional("who"), reason: try object.optional("reason"),
            isSecure: try object.optional("secure") ?? false,
            onlyRefuses: try object.optional("only_refuse") ?? false)
        for (name, text, limit) in [
            ("id", deletion.id, maxNameBytes), ("stream", deletion.stream, maxNameBytes),
            ("who", deletion.who, maxNameBytes), ("reason", deletion.reason, maxReasonBytes),
        ] where text?.utf8.count ?? 0 > limit {
            throw PayloadError("'\(name)' is longer than \(limit) bytes")
        }
        guard !deletion.id.isEmpty else { throw PayloadError("'id' is empty") }
        return deletion
    }
}

/// The body of an HTTP request to delete samples, or to preview that.
public struct DeletionBody: Sendable {
    /// The name of the stream, or nil for all streams.
    public let stream: String?
    /// Why.
    public let reason: String?
    /// Whether the space that becomes free is overwritten.
    public let isSecure: Bool
    /// Whether nothing is deleted.
    public let isPreview: Bool
    private let from, to: Int64?

    /// Decodes a body.
    /// - Throws: ``PayloadError`` with the reason.
    public init(_ payload: Data) throws(PayloadError) {
        let object = try JSONMembers(payload)
        stream = try object.optional("stream")
        from = try object.optional("from")
        to = try object.optional("to")
        reason = try object.optional("reason")
        isSecure = try object.optional("secure") ?? false
        isPreview = try object.optional("dry_run") ?? false
        let isAll: Bool = try object.optional("all") ?? false
        guard isAll != (from != nil || to != nil) else {
            throw PayloadError("give 'from', 'to' or both, in µs since 1970, or else '\"all\":true'")
        }
        guard reason?.utf8.count ?? 0 <= DeletionJSON.maxReasonBytes else {
            throw PayloadError("'reason' is longer than \(DeletionJSON.maxReasonBytes) bytes")
        }
        for time in [from, to] {
            guard time.map({ (Deletion.earliest...Deletion.latest).contains($0) }) ?? true else {
                throw PayloadError("'from' and 'to' must be µs since 1970")
            }
        }
        guard (from ?? Deletion.earliest) < (to ?? Deletion.latest) else {
            throw PayloadError("'from' must be before 'to'")
        }
    }

    /// Returns the range of times. It ends now at the latest, so that what the device measures later is stored.
    public func times(now: Timestamp) -> Range<Int64> {
        let from = from ?? Deletion.earliest
        return from..<max(from + 1, min(to ?? now.microseconds, now.microseconds))
    }
}
