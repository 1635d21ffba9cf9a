import LockstepModel
import Logging

/// The batches of a device that a collector has refused for now, and that are not stored yet. All times are in µs of the boot
/// clock.
struct CollectorRefusals: Sendable {
    /// The time after which a refused batch that still waits is reported, in µs. Until then, another collector may store it.
    static let delay: Int64 = 3_000_000
    /// The time after which it is logged again, in µs.
    static let interval: Int64 = 600_000_000

    /// A refused batch.
    struct Refusal: Sendable {
        let position: BatchPosition
        let reason: String
        /// The time of the first refusal since batches are refused.
        let since: Int64

        func isReportable(at boot: Int64) -> Bool { boot - since >= delay }

        func report(of device: Int) -> OutboxDelivery.Report {
            OutboxDelivery.Report(
                level: .warning, message: "collector refuses batches, kept in outbox",
                metadata: [
                    "epoch": "\(position.epoch)", "seq": "\(position.seq)", "error": "\(reason)",
                    "hint": "they are sent again until they are accepted; to give them up, use another --outbox",
                ], device: device)
        }
    }

    private var refusal: Refusal?
    private var loggedAt: Int64?

    /// Whether a batch is refused.
    var isAny: Bool { refusal != nil }

    /// Records a refusal. Another one does not postpone the report of the first.
    mutating func didRefuse(_ position: BatchPosition, reason: String, at boot: Int64) {
        guard refusal?.isReportable(at: boot) ?? true else { return }
        refusal = Refusal(position: position, reason: reason, since: refusal?.since ?? boot)
    }

    /// Removes the refusal of a batch that no longer waits: it was delivered or dropped, or has another number now.
    mutating func remove(where isObsolete: (BatchPosition) -> Bool) {
        if let position = refusal?.position, isObsolete(position) { refusal = nil }
    }

    /// Returns the refusal to log now, or nil.
    mutating func take(at boot: Int64) -> Refusal? {
        guard let refusal, refusal.isReportable(at: boot), boot - (loggedAt ?? .min / 2) >= Self.interval else {
            return nil
        }
        loggedAt = boot
        return refusal
    }

    /// Returns the problem for the presence, or nil if there is none.
    func problem(at boot: Int64) -> String? {
        refusal.flatMap { $0.isReportable(at: boot) ? Presence.refusalProblem + $0.reason : nil }
    }
}
