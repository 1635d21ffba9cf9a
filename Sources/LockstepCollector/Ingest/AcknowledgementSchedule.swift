import LockstepModel
import LockstepStore

/// Coalesces acknowledgements: the first is sent shortly after a batch, the next ones about once a second for each
/// (device, epoch).
struct AcknowledgementSchedule {
    /// The stored batches of a (device, epoch).
    private struct Pending {
        let batches: SequenceSet
        /// The time of the commit that stored the newest batch, in µs of the boot clock.
        let committedAt: Int64
    }

    /// The minimum time between two acknowledgements of one (device, epoch), in µs. It is shorter than an agent's
    /// default window; otherwise each acknowledgement would lag further behind its batch than the previous one.
    static let minInterval: Int64 = 900_000
    /// The minimum time from a commit to its acknowledgement, in µs. The batches of one window arrive within this time.
    static let delay: Int64 = 100_000
    /// The minimum time between two scans of the queue, in µs.
    private static let scanInterval: Int64 = 50_000

    private var pending: [DeviceEpoch: Pending] = [:]
    private var queue = DeadlineQueue<DeviceEpoch>()
    /// The time of the last acknowledgement of each (device, epoch), in µs of the boot clock.
    private var sentAt: [DeviceEpoch: Int64] = [:]
    /// The size of `sentAt` at which expired entries are removed.
    private var pruneThreshold = 20_000
    /// The earliest time of the next scan of the queue, in µs of the boot clock.
    private var nextScan: Int64 = 0

    /// Schedules an acknowledgement of the stored batches of (device, epoch).
    /// - Parameter boot: the time of the commit, in µs of the boot clock.
    mutating func schedule(_ key: DeviceEpoch, received: SequenceSet, at boot: Int64) {
        guard pending.updateValue(Pending(batches: received, committedAt: boot), forKey: key) == nil else { return }
        queue.add(key, deadline: max(boot + Self.delay, sentAt[key].map { $0 + Self.minInterval } ?? .min))
    }

    /// The time of the next call to ``takeExpired(at:)``, in µs of the boot clock, or nil if nothing is pending.
    var nextDeadline: Int64? { queue.nextDeadline.map { max($0, nextScan) } }

    /// Removes and returns the acknowledgements whose deadline has passed.
    mutating func takeExpired(at boot: Int64) -> [(device: DeviceAddress, ack: Acknowledgement)] {
        guard let nextDeadline, boot >= nextDeadline else { return [] }
        nextScan = boot + Self.scanInterval
        var expired: [(DeviceAddress, Acknowledgement)] = []
        while let (_, key) = queue.popExpired(at: boot) {
            guard let received = pending.removeValue(forKey: key) else { continue }
            let ack = Acknowledgement(
                epoch: key.epoch, received: received.batches, holdTime: boot - received.committedAt)
            expired.append((key.device, ack))
            sentAt[key] = boot
        }
        // Limit the memory: ended epochs would accumulate. An entry older than the interval no longer has an effect.
        if sentAt.count > pruneThreshold {
            sentAt = sentAt.filter { boot - $0.value < Self.minInterval }
            pruneThreshold = max(20_000, 2 * sentAt.count)
        }
        return expired
    }
}
