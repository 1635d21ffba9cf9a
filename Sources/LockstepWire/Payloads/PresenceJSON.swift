public import FoundationEssentials
public import LockstepModel

/// The JSON form of a presence: `{"epoch":"…","session":…,"phase":"foreground","at":…,"reason":"start"}`.
public enum PresenceJSON {
    public static func encode(_ presence: Presence) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("epoch", ifPresent: presence.epoch?.rawValue)
        object.member("session", ifPresent: presence.session)
        object.member("phase", presence.phase.rawValue)
        object.member("at", ifPresent: presence.at?.microseconds)
        object.member("reason", ifPresent: presence.reason)
        if !presence.dropped.isEmpty { object.member("dropped", ranges: presence.dropped) }
        if presence.droppedSamples > 0 { object.member("dropped_samples", presence.droppedSamples) }
        if !presence.sources.isEmpty { object.member("sources", presence.sources) }
        return object.finish()
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
            let dropped = try wire.dropped?.map { pair in
                guard pair.count == 2, pair[0] >= 1, pair[0] <= pair[1], pair[1] < 1 << 53 else {
                    throw PayloadError("'dropped' takes pairs [from, to] of batch numbers")
                }
                return pair[0]...pair[1]
            }
            return Presence(
                epoch: try wire.epoch.map { try Epoch(validating: $0) }, session: wire.session, phase: phase,
                at: wire.at, reason: wire.reason.map { String($0.prefix(200)) },
                dropped: dropped ?? [], droppedSamples: wire.droppedSamples ?? 0, sources: wire.sources ?? [:])
        } catch let error as IdentifierError {
            throw PayloadError(error.description)
        } catch {
            throw PayloadError(decoding: error)
        }
    }

    private struct Wire: Decodable {
        var epoch: String?
        var session: Int64?
        var phase: String
        var at: Timestamp?
        var reason: String?
        var dropped: [[Int64]]?
        var droppedSamples: Int64?
        var sources: [String: String]?

        enum CodingKeys: String, CodingKey {
            case epoch, session, phase, at, reason, dropped, sources
            case droppedSamples = "dropped_samples"
        }
    }
}
