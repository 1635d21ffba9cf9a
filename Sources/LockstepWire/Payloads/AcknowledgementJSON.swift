public import FoundationEssentials
public import LockstepModel

/// The JSON encoding of an acknowledgement, see `Acknowledgement` for its members:
/// `{"epoch":"…","through":40,"missing":[[42,44]],"highest":60,"held":98000}`.
public enum AcknowledgementJSON {
    /// The maximum length of the reason of a refusal, in characters.
    static let maxReason = 500

    /// Encodes an acknowledgement.
    public static func encode(_ ack: Acknowledgement) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("epoch", ack.epoch.rawValue)
        object.member("through", ack.through)
        object.member("missing", ranges: ack.missing)
        object.member("highest", ack.highest)
        object.member("held", ifPresent: ack.holdTime)
        if let refusal = ack.refusal {
            object.member("refused") { refused in
                refused.member("seq", refusal.seq)
                refused.member("reason", String(refusal.reason.prefix(maxReason)))
            }
        }
        return object.finish()
    }

    /// Decodes an acknowledgement.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> Acknowledgement {
        let object = try JSONMembers(payload)
        let pairs: [[Int64]] = try object.optional("missing") ?? []
        let missing = try pairs.map { pair throws(PayloadError) in
            guard let range = PendingJSON.range(pair) else {
                throw PayloadError("'missing' must be a list of pairs [from, to] of batch numbers")
            }
            return range
        }
        let through: Int64 = try object.required("through")
        let highest: Int64? = try object.optional("highest")
        guard (0..<1 << 53).contains(through), (0..<1 << 53).contains(highest ?? 0) else {
            throw PayloadError("'through' and 'highest' must be batch numbers")
        }
        // The hold time is optional: ignore an invalid value instead of rejecting the acknowledgement.
        let held: Int64? = try object.optional("held")
        var refusal: Acknowledgement.Refusal?
        if let refused: JSONMembers = try object.optional("refused") {
            let (seq, reason): (Int64, String) = (try refused.required("seq"), try refused.required("reason"))
            if (1..<1 << 53).contains(seq) { refusal = .init(seq: seq, reason: String(reason.prefix(maxReason))) }
        }
        return Acknowledgement(
            epoch: try object.required("epoch"), through: through, missing: missing, highest: highest,
            holdTime: held.flatMap { (0..<1 << 53).contains($0) ? $0 : nil }, refusal: refusal)
    }
}
