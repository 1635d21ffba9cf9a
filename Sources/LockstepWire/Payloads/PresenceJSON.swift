public import FoundationEssentials
public import LockstepModel

/// The JSON encoding of a presence message: `{"epoch":"…","session":…,"phase":"foreground","at":…,"reason":"start"}`.
public enum PresenceJSON {
    /// The maximum number of ranges of dropped batches in one message. Further ranges are not sent, and are ignored in
    /// a received message.
    public static let maxRanges = 1000
    /// The maximum length of `problem`, in characters.
    static let maxProblem = 500
    /// The maximum number of sources, and of the characters in the name or the status of one.
    static let (maxSources, maxSource) = (100, 200)

    /// Returns the sources within the limits, because readers keep those of each device.
    static func limited(_ sources: [String: String]) -> [String: String] {
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
        return object.finish()
    }

    /// Decodes a presence message. `payload` only has to be valid during the call.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: UnsafeRawBufferPointer) throws(PayloadError) -> Presence {
        if let presence = decodeCanonical(payload) { return presence }
        return try decode(Data(payload))
    }

    /// Decodes a presence message.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> Presence {
        do {
            let wire = try JSONDecoder().decode(Wire.self, from: payload)
            guard let phase = Phase(rawValue: wire.phase) else {
                throw PayloadError(
                    "'phase' is '\(wire.phase.prefix(40))'; valid phases are "
                        + Phase.allCases.map(\.rawValue).joined(separator: ", "))
            }
            guard (0..<1 << 53).contains(wire.seq ?? 0) else {
                throw PayloadError("'seq' is \(wire.seq ?? 0): it must be the number of a batch, or 0")
            }
            for (name, value) in [("session", wire.session), ("at", wire.at?.microseconds)] {
                // The limit prevents overflows and keeps the value exact in JavaScript.
                guard (0..<1 << 53).contains(value ?? 0) else {
                    throw PayloadError("'\(name)' is \(value ?? 0): it must be a time in µs since 1970")
                }
            }
            guard (0..<1 << 53).contains(wire.droppedSamples ?? 0) else {
                throw PayloadError(
                    "'dropped_samples' is \(wire.droppedSamples ?? 0): it must be a number of samples from 0 to 2^53 - 1"
                )
            }
            let dropped = try wire.dropped?.prefix(maxRanges).map { pair in
                guard pair.count == 2, pair[0] >= 1, pair[0] <= pair[1], pair[1] < 1 << 53 else {
                    throw PayloadError("'dropped' must be a list of pairs [from, to] of batch numbers")
                }
                return pair[0]...pair[1]
            }
            return Presence(
                epoch: try wire.epoch.map { try Epoch(validating: $0) },
                after: try wire.after.map { try Epoch(validating: $0) }, session: wire.session, phase: phase,
                at: wire.at, reason: wire.reason.map { String($0.prefix(200)) }, seq: wire.seq,
                pending: try PendingJSON.decode(wire.pending),
                // Sort the ranges here, because a `SequenceSet` inserts sorted ranges fastest.
                dropped: (dropped ?? []).sorted { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) },
                droppedSamples: wire.droppedSamples ?? 0, sources: limited(wire.sources ?? [:]),
                problem: wire.problem.map { String($0.prefix(maxProblem)) },
                clock: try wire.clock?.report(), certificates: (wire.certificates ?? [:]).valid)
        } catch let error as IdentifierError {
            throw PayloadError(error.description)
        } catch {
            throw PayloadError(decoding: error)
        }
    }

    private struct Wire: Decodable {
        var epoch: String?
        var after: String?
        var session: Int64?
        var phase: String
        var at: Timestamp?
        var reason: String?
        var seq: Int64?
        var pending: [String: [[Int64]]]?
        var dropped: [[Int64]]?
        var droppedSamples: Int64?
        var sources: [String: String]?
        var problem: String?
        var clock: ClockReportJSON?
        var certificates: CertificateTimes?

        enum CodingKeys: String, CodingKey {
            case epoch, after, session, phase, at, reason, seq, pending, dropped, sources, problem, clock, certificates
            case droppedSamples = "dropped_samples"
        }
    }
}
