import LockstepModel
import LockstepStore

/// Coalesces acknowledgements: the first is sent shortly after a batch, the next ones about once a second for each
/// (device, epoch).
struct AcknowledgementSchedule {
    /// What is known of a (device, epoch).
    private struct Entry {
        let key: DeviceEpoch
        /// The stored batches that are not acknowledged yet, together with all earlier ones; nil if there are none.
        var pending: SequenceSet?
        /// The end of the reading of the turn before that of the newest batch, in µs of the boot clock.
        var lastReadEnd: Int64 = 0
        /// The time of the last acknowledgement, in µs of the boot clock.
        var sentAt: Int64?
    }

    /// The minimum time between two acknowledgements of one (device, epoch), in µs. It is shorter than an agent's
    /// default window; otherwise each acknowledgement would lag further behind its batch than the previous one.
    static let minInterval: Int64 = 900_000
    /// The minimum time from a commit to its acknowledgement, in µs. The batches of one window arrive within this time.
    static let delay: Int64 = 100_000
    /// The minimum time between two scans of the queue, in µs.
    private static let scanInterval: Int64 = 50_000

    /// The entries by the number of the (device, epoch) in the store. These numbers are small.
    private var entries: [Entry?] = []
    private var queue = DeadlineQueue<Int>()
    /// The earliest time of the next scan of the queue, in µs of the boot clock.
    private var nextScan: Int64 = 0

    /// Schedules an acknowledgement of the stored batches of (device, epoch).
    /// - Parameters:
    ///   - lastReadEnd: the end of the reading of the turn before that of the batches, in µs of the boot clock.
    ///   - boot: the time of the commit, in µs of the boot clock.
    mutating func schedule(_ scope: IngestResult.Scope, after lastReadEnd: Int64, at boot: Int64) {
        let number = scope.number
        if number >= entries.count {
            entries.append(contentsOf: repeatElement(nil, count: number + 1 - entries.count))
        }
        if entries[number] == nil { entries[number] = Entry(key: scope.key) }
        let isScheduled = entries[number]?.pending != nil
        entries[number]?.pending = scope.received
        entries[number]?.lastReadEnd = lastReadEnd
        guard !isScheduled else { return }
        let earliest = entries[number]?.sentAt.map { $0 + Self.minInterval } ?? .min
        queue.add(number, deadline: max(boot + Self.delay, earliest))
    }

    mutating func cancel(_ device: DeviceAddress) {
        for number in entries.indices where entries[number]?.key.device == device { entries[number]?.pending = nil }
    }

    /// The time of the next call to ``takeDue(at:isStopping:)``, in µs of the boot clock, or nil if nothing is pending.
    var nextDeadline: Int64? { queue.nextDeadline.map { max($0, nextScan) } }

    /// Removes and returns the acknowledgements whose deadline has passed, or all when the collector stops: the next collector
    /// may have another store, and cannot acknowledge these batches before they are sent again.
    mutating func takeDue(at boot: Int64, isStopping: Bool) -> [(device: DeviceAddress, ack: Acknowledgement)] {
        guard let nextDeadline, isStopping || boot >= nextDeadline else { return [] }
        nextScan = boot + Self.scanInterval
        var expired: [(DeviceAddress, Acknowledgement)] = []
        while let (_, number) = queue.popExpired(at: isStopping ? .max : boot) {
            guard let entry = entries[number], let received = entry.pending else { continue }
            let ack = Acknowledgement(
                epoch: entry.key.epoch, received: received, holdTime: boot - entry.lastReadEnd)
            expired.append((entry.key.device, ack))
            entries[number]?.pending = nil
            entries[number]?.sentAt = boot
        }
        return expired
    }
}
