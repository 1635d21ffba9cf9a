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
        do {
            let wire = try JSONDecoder().decode(Wire.self, from: payload)
            let missing = try (wire.missing ?? []).map { pair in
                guard pair.count == 2, pair[0] >= 1, pair[0] <= pair[1], pair[1] < 1 << 53 else {
                    throw PayloadError("'missing' must be a list of pairs [from, to] of batch numbers")
                }
                return pair[0]...pair[1]
            }
            guard (0..<1 << 53).contains(wire.through), (0..<1 << 53).contains(wire.highest ?? 0) else {
                throw PayloadError("'through' and 'highest' must be batch numbers")
            }
            // The hold time is optional: ignore an invalid value instead of rejecting the acknowledgement.
            let holdTime = wire.held.flatMap { (0..<1 << 53).contains($0) ? $0 : nil }
            let refusal = wire.refused.flatMap { refused in
                (1..<1 << 53).contains(refused.seq)
                    ? Acknowledgement.Refusal(seq: refused.seq, reason: String(refused.reason.prefix(maxReason))) : nil
            }
            return Acknowledgement(
                epoch: try Epoch(validating: wire.epoch), through: wire.through, missing: missing,
                highest: wire.highest, holdTime: holdTime, refusal: refusal)
        } catch let error as IdentifierError {
            throw PayloadError(error.description)
        } catch {
            throw PayloadError(decoding: error)
        }
    }

    private struct Wire: Decodable {
        var epoch: String
        var through: Int64
        var missing: [[Int64]]?
        var highest: Int64?
        var held: Int64?
        var refused: Refused?
    }

    private struct Refused: Decodable {
        var seq: Int64
        var reason: String
    }
}
