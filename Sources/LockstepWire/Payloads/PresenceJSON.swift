public import FoundationEssentials
public import LockstepModel

/// The JSON encoding of a presence message: `{"epoch":"…","session":…,"phase":"foreground","at":…,"reason":"start"}`.
public enum PresenceJSON {
    /// The maximum number of ranges of dropped batches in one message. Further ranges are not sent, and are ignored in
    /// a received message.
    public static let maxRanges = 1000
    /// The maximum length of `problem`, in characters.
    private static let maxProblem = 500
    /// The maximum number of sources, and of the characters in the name or the status of one.
    private static let (maxSources, maxSource) = (100, 200)

    /// Returns the sources within the limits, because readers keep those of each device.
    private static func limited(_ sources: [String: String]) -> [String: String] {
        let isShort = { (text: String) in text.utf8.count <= maxSource }
        guard sources.count > maxSources || !sources.allSatisfy({ isShort($0) && isShort($1) }) else { return sources }
        let kept = sources.sorted { $0.key < $1.key }.prefix(maxSources)
        return Dictionary(kept.map { (String($0.prefix(maxSource)), String($1.prefix(maxSource))) }) { first, _ in first
        }
    }

    /// Encodes a presence message.
    public static func encode(_ presence: Presence) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("epoch", ifPresent: presence.epoch?.rawValue)
        object.member("after", ifPresent: presence.after?.rawValue)
        object.member("session", ifPresent: presence.session)
        object.member("phase", presence.phase.rawValue)
        object.member("at", ifPresent: presence.at?.microseconds)
        object.member("reason", ifPresent: presence.reason)
        object.member("seq", ifPresent: presence.seq)
        if !presence.pending.isEmpty {
            PendingJSON.encode(presence.pending, current: presence.epoch, into: &object)
        }
        if !presence.dropped.isEmpty { object.member("dropped", ranges: Array(presence.dropped.prefix(maxRanges))) }
        if presence.droppedSamples > 0 { object.member("dropped_samples", presence.droppedSamples) }
        if !presence.sources.isEmpty { object.member("sources", presence.sources) }
        object.member("problem", ifPresent: presence.problem.map { String($0.prefix(maxProblem)) })
        if let clock = presence.clock { ClockReportJSON.encode(clock, into: &object) }
        object.member(certificates: presence.certificates)
        if let calibration = presence.calibration {
            object.member("calibration") { CalibrationJSON.encode(calibration, into: &$0) }
        }
        return object.finish()
    }

    /// Decodes a presence message. `payload` only has to be valid during the call.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: UnsafeRawBufferPointer) throws(PayloadError) -> Presence {
        try decode(JSONMembers(payload))
    }

    /// Decodes a presence message.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> Presence {
        try decode(JSONMembers(payload))
    }

    private static func decode(_ object: JSONMembers) throws(PayloadError) -> Presence {
        let word: String = try object.required("phase")
        guard let phase = Phase(rawValue: word) else {
            throw PayloadError(
                "'phase' is '\(word.prefix(40))'; valid phases are "
                    + Phase.allCases.map(\.rawValue).joined(separator: ", "))
        }
        let session = try number("session", of: object, "a time in µs since 1970")
        let at = try number("at", of: object, "a time in µs since 1970")
        let samples = try number("dropped_samples", of: object, "a number of samples from 0 to 2^53 - 1")
        let pairs: [[Int64]] = try object.optional("dropped") ?? []
        let dropped = try pairs.prefix(maxRanges).map { pair throws(PayloadError) in
            guard let range = PendingJSON.range(pair) else {
                throw PayloadError("'dropped' must be a list of pairs [from, to] of batch numbers")
            }
            return range
        }
        let (reason, problem): (String?, String?) = (try object.optional("reason"), try object.optional("problem"))
        let clock: JSONMembers? = try object.optional("clock")
        let certificates: CertificateTimes = try object.optional("certificates") ?? [:]
        let calibration: JSONMembers? = try object.optional("calibration")
        return Presence(
            epoch: try object.optional("epoch"), after: try object.optional("after"), session: session, phase: phase,
            at: at.map(Timestamp.init(microseconds:)), reason: reason.map { String($0.prefix(200)) },
            seq: try number("seq", of: object, "the number of a batch, or 0"),
            pending: try PendingJSON.decode(object.optional("pending") ?? [:]),
            // Sort the ranges here, because a `SequenceSet` inserts sorted ranges fastest.
            dropped: dropped.sorted { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) },
            droppedSamples: samples ?? 0, sources: limited(try object.optional("sources") ?? [:]),
            problem: problem.map { String($0.prefix(maxProblem)) },
            clock: try clock.map { clock throws(PayloadError) in try ClockReportJSON.decode(clock) },
            certificates: certificates.valid,
            calibration: try calibration.map { object throws(PayloadError) in try CalibrationJSON.decode(object) })
    }

    /// Returns a number from 0 to 2⁵³ − 1. The limit prevents overflows and keeps the value exact in JavaScript.
    private static func number(
        _ name: String, of object: JSONMembers, _ meaning: String
    ) throws(PayloadError) -> Int64? {
        let number: Int64? = try object.optional(name)
        guard (0..<1 << 53).contains(number ?? 0) else {
            throw PayloadError("'\(name)' is \(number ?? 0): it must be \(meaning)")
        }
        return number
    }
}
