public import FoundationEssentials
public import LockstepModel

/// The JSON form of a presence: `{"epoch":"…","session":…,"phase":"foreground","at":…,"reason":"start"}`.
public enum PresenceJSON {
    /// Ranges of dropped batches that one message tells: the lowest.
    public static let mostRanges = 1000

    public static func encode(_ presence: Presence) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("epoch", ifPresent: presence.epoch?.rawValue)
        object.member("after", ifPresent: presence.after?.rawValue)
        object.member("session", ifPresent: presence.session)
        object.member("phase", presence.phase.rawValue)
        object.member("at", ifPresent: presence.at?.microseconds)
        object.member("reason", ifPresent: presence.reason)
        if !presence.dropped.isEmpty { object.member("dropped", ranges: Array(presence.dropped.prefix(mostRanges))) }
        if presence.droppedSamples > 0 { object.member("dropped_samples", presence.droppedSamples) }
        if !presence.sources.isEmpty { object.member("sources", presence.sources) }
        return object.finish()
    }

    /// Reads a presence, whose bytes are lent for the call.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: UnsafeRawBufferPointer) throws(PayloadError) -> Presence {
        if let presence = decodeCanonical(payload) { return presence }
        return try decode(Data(payload))
    }

    /// Reads a presence.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> Presence {
        do {
            let wire = try JSONDecoder().decode(Wire.self, from: payload)
            guard let phase = Phase(rawValue: wire.phase) else {
                throw PayloadError(
                    "'phase' is '\(wire.phase.prefix(40))': known are "
                        + Phase.allCases.map(\.rawValue).joined(separator: ", "))
            }
            for (name, value) in [("session", wire.session), ("at", wire.at?.microseconds)] {
                // Others subtract from it, and JavaScript reads it.
                guard (0..<1 << 53).contains(value ?? 0) else {
                    throw PayloadError("'\(name)' is \(value ?? 0): it counts µs since 1970")
                }
            }
            guard (0..<1 << 53).contains(wire.droppedSamples ?? 0) else {
                throw PayloadError("'dropped_samples' is \(wire.droppedSamples ?? 0): it is a count")
            }
            let dropped = try wire.dropped?.prefix(mostRanges).map { pair in
                guard pair.count == 2, pair[0] >= 1, pair[0] <= pair[1], pair[1] < 1 << 53 else {
                    throw PayloadError("'dropped' takes pairs [from, to] of batch numbers")
                }
                return pair[0]...pair[1]
            }
            return Presence(
                epoch: try wire.epoch.map { try Epoch(validating: $0) },
                after: try wire.after.map { try Epoch(validating: $0) }, session: wire.session, phase: phase,
                at: wire.at, reason: wire.reason.map { String($0.prefix(200)) },
                // In order they make a set quickly.
                dropped: (dropped ?? []).sorted { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) },
                droppedSamples: wire.droppedSamples ?? 0, sources: wire.sources ?? [:])
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
        var dropped: [[Int64]]?
        var droppedSamples: Int64?
        var sources: [String: String]?

        enum CodingKeys: String, CodingKey {
            case epoch, after, session, phase, at, reason, dropped, sources
            case droppedSamples = "dropped_samples"
        }
    }
}
