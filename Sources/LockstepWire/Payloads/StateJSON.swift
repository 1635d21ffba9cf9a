public import FoundationEssentials
public import LockstepModel

/// The JSON encoding of a life-cycle transition, published as the state of a device:
/// `{"state":"active","since":1700000000000000,"previous":"resumed","reason":"settled","seq":7}`.
public enum StateJSON {
    /// Encodes a transition.
    public static func encode(_ transition: LifecycleTransition) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("state", transition.to.rawValue)
        object.member("since", transition.since.microseconds)
        object.member("previous", ifPresent: transition.from?.rawValue)
        object.member("reason", transition.reason)
        object.member("seq", transition.seq)
        return object.finish()
    }

    /// Decodes a transition.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> LifecycleTransition {
        do {
            let wire = try JSONDecoder().decode(Wire.self, from: payload)
            return LifecycleTransition(
                from: wire.previous, to: wire.state, since: wire.since, reason: wire.reason ?? "", seq: wire.seq ?? 0)
        } catch { throw PayloadError(decoding: error) }
    }

    private struct Wire: Decodable {
        var state: LifecycleState
        var since: Timestamp
        var previous: LifecycleState?
        var reason: String?
        var seq: Int64?
    }
}
