import LockstepModel

/// Batches that failed and are retried after a delay that doubles each time.
///
/// Only a few batches are retried at a time, in turn. If one of them succeeds, all others are released.
struct RetryBackoff: Sendable {
    /// The maximum delay in µs.
    let maxDelay: Int64
    /// The batches that wait for a retry.
    private(set) var waiting: [Epoch: SequenceSet] = [:]
    /// The batches being retried.
    private var retrying: [Epoch: SequenceSet] = [:]
    private var delay = DeviceDelivery.initialRetryDelay
    /// The time of the next retry in µs of the boot clock.
    private var retryTime: Int64 = 0
    /// The last batch that was retried, after which the next retry continues.
    private var lastRetried: BatchPosition?

    init(maxDelay: Int64) { self.maxDelay = maxDelay }

    /// Adds a batch that failed.
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
