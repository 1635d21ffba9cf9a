import LockstepModel

/// The problems of the delivery that a person has to solve: a collector that refuses batches, and another agent with the
/// same device id.
///
/// All times are in µs of the boot clock.
struct DeliveryProblems {
    /// The time after which a problem is logged again, and after which the last takeover no longer counts.
    static let interval: Int64 = 600_000_000

    /// A refused batch that is not stored yet, and the reason.
    private var refusal: (position: BatchPosition, reason: String)?
    private var refusalLoggedAt: Int64?
    private var takenOverAt: Int64?
    private var takeoverLoggedAt: Int64?

    /// Records that a collector has refused a batch for now.
    /// - Returns: whether to log it.
    mutating func didRefuse(_ position: BatchPosition, reason: String, at boot: Int64) -> Bool {
        refusal = (position, reason)
        return Self.isDue(&refusalLoggedAt, at: boot)
    }

    /// Records an acknowledgement, which may list the refused batch.
    mutating func handle(_ ack: Acknowledgement) {
        guard let position = refusal?.position, position.epoch == ack.epoch, ack.stored.contains(position.seq) else {
            return
        }
        refusal = nil
    }

    /// Removes the refusal of a batch that no longer waits: it was delivered or dropped, or has another number now.
    mutating func removeRefusal(where isObsolete: (BatchPosition) -> Bool) {
        if let position = refusal?.position, isObsolete(position) { refusal = nil }
    }

    /// Removes the takeover, which ends with the agent.
    mutating func didStop() { takenOverAt = nil }

    /// Records that another client has taken over the connection.
    /// - Returns: whether to log it as an error.
    mutating func didLoseSession(at boot: Int64) -> Bool {
        takenOverAt = boot
        return Self.isDue(&takeoverLoggedAt, at: boot)
    }

    /// Whether a batch is refused.
    var hasRefusal: Bool { refusal != nil }

    /// Returns the problem for the presence, or nil if there is none.
    func text(at boot: Int64) -> String? {
        if let takenOverAt, boot - takenOverAt < Self.interval {
            return "another agent uses the same device id: give each agent its own --device"
        }
        return refusal.map { Presence.refusalProblem + $0.reason }
    }

    private static func isDue(_ last: inout Int64?, at boot: Int64) -> Bool {
        if let last, boot - last < interval { return false }
        last = boot
        return true
    }
}
