import LockstepModel

/// The problems that a person has to solve: an outbox that cannot be used, a collector that refuses batches, and another
/// agent with the same device id.
///
/// All times are in µs of the boot clock.
struct DeliveryProblems {
    /// The time after which a problem is logged again, and after which the last takeover no longer counts.
    static let interval: Int64 = 600_000_000

    /// The time after which a refused batch that still waits is reported, in µs. Until then, another collector may store it.
    static let refusalDelay: Int64 = 3_000_000

    /// A batch that a collector has refused for now, and that is not stored yet.
    struct Refusal {
        let position: BatchPosition
        let reason: String
        /// The time of the first refusal since batches are refused.
        let since: Int64

        func isReportable(at boot: Int64) -> Bool { boot - since >= refusalDelay }
    }

    /// Why the outbox cannot be written, or nil.
    var unwritable: String?
    /// Why batches cannot be read from the outbox, or nil.
    var unreadable: String?

    private var refusal: Refusal?
    private var refusalLoggedAt: Int64?
    private var takenOverAt: Int64?
    private var takeoverLoggedAt: Int64?

    /// Records that a collector has refused a batch for now. Another one does not postpone the report of the first.
    mutating func didRefuse(_ position: BatchPosition, reason: String, at boot: Int64) {
        guard refusal?.isReportable(at: boot) ?? true else { return }
        refusal = Refusal(position: position, reason: reason, since: refusal?.since ?? boot)
    }

    /// Returns the refusal to log now, or nil.
    mutating func takeRefusal(at boot: Int64) -> Refusal? {
        guard let refusal, refusal.isReportable(at: boot), Self.isDue(&refusalLoggedAt, at: boot) else { return nil }
        return refusal
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
        if let outbox = unwritable ?? unreadable { return Presence.outboxProblem + outbox }
        if let takenOverAt, boot - takenOverAt < Self.interval {
            return "another agent uses the same device id: give each agent its own --device"
        }
        guard let refusal, refusal.isReportable(at: boot) else { return nil }
        return Presence.refusalProblem + refusal.reason
    }

    private static func isDue(_ last: inout Int64?, at boot: Int64) -> Bool {
        if let last, boot - last < interval { return false }
        last = boot
        return true
    }
}
