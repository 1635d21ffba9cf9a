import LockstepModel
import Logging

/// Batches that failed and are retried after a delay that doubles each time.
///
/// Only a few batches are retried at a time, in turn. If one of them succeeds, all others are released.
struct RetryBackoff: Sendable {
    /// The maximum delay in µs.
    let maxDelay: Int64
    private(set) var waiting: [Epoch: SequenceSet] = [:]
    private(set) var retrying: [Epoch: SequenceSet] = [:]
    private var delay = DeviceDelivery.initialRetryDelay
    /// The time of the next retry in µs of the boot clock.
    private var retryTime: Int64 = 0
    /// The last batch that was retried, after which the next retry continues.
    private var lastRetried: BatchPosition?

    init(maxDelay: Int64) { self.maxDelay = maxDelay }

    mutating func add(_ position: BatchPosition, at boot: Int64) {
        if waiting.isEmpty, retrying.isEmpty {
            delay = DeviceDelivery.initialRetryDelay
            retryTime = boot + delay
        }
        retrying.remove(position)
        waiting.insert(position)
    }

    /// Returns the batches to retry, or none before the retry time.
    mutating func takeReady(at boot: Int64) -> [BatchPosition] {
        guard !waiting.isEmpty, boot >= retryTime else { return [] }
        delay = min(delay * 2, maxDelay)
        retryTime = boot + delay
        // Continue after the last batch, so that batches that always fail do not block the others.
        var batches = take(DeviceDelivery.probeCount, after: lastRetried)
        batches += take(DeviceDelivery.probeCount - batches.count, after: nil)
        lastRetried = batches.last
        return batches
    }

    private mutating func take(_ count: Int, after last: BatchPosition?) -> [BatchPosition] {
        var taken: [BatchPosition] = []
        for (epoch, batches) in waiting.sorted(by: { $0.key < $1.key }) {
            let first = last.map { epoch < $0.epoch ? .max : epoch == $0.epoch ? $0.seq + 1 : 1 } ?? 1
            let rest = batches.intersection(SequenceSet(CollectionOfOne(first...Int64.max)))
            taken += rest.lowest(count - taken.count).map { BatchPosition(epoch: epoch, seq: $0) }
        }
        for position in taken {
            waiting.remove(position)
            retrying.insert(position)
        }
        return taken
    }

    /// Removes batches that succeeded.
    /// - Returns: all waiting batches if one of the retried batches succeeded.
    mutating func release(by succeeded: SequenceSet, of epoch: Epoch) -> [Epoch: SequenceSet] {
        let hasRetrySucceeded = retrying[epoch].map { !$0.intersection(succeeded).isEmpty } ?? false
        remove(succeeded, of: epoch)
        return hasRetrySucceeded ? releaseAll() : [:]
    }

    /// Removes and returns all waiting batches.
    mutating func releaseAll() -> [Epoch: SequenceSet] {
        defer {
            waiting = [:]
            retrying = [:]
        }
        return waiting
    }

    mutating func remove(_ batches: SequenceSet, of epoch: Epoch) {
        waiting.subtract(batches, of: epoch)
        retrying.subtract(batches, of: epoch)
    }
}

/// The batches of a device that a collector has refused for now, and that are not stored yet. All times are in µs of the boot
/// clock.
struct CollectorRefusals: Sendable {
    /// The time after which a refused batch that still waits is reported, in µs. Until then, another collector may store it.
    static let delay: Int64 = 3_000_000
    /// The time after which it is logged again, in µs.
    static let interval: Int64 = 600_000_000

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
