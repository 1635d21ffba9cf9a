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
        let object = try JSONMembers(payload)
        return LifecycleTransition(
            from: try object.optional("previous"), to: try object.required("state"),
            since: try object.required("since"), reason: try object.optional("reason") ?? "",
            seq: try object.optional("seq") ?? 0)
    }
}
