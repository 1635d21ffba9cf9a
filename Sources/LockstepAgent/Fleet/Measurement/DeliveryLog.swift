import LockstepModel

/// The batches that one device has sent, and those that a collector has acknowledged.
struct DeliveryLog {
    /// The counts and lags of the batches that an acknowledgement covers for the first time.
    struct NewlyAcknowledged: Equatable {
        var batches = 0
        var samples = 0
        /// The time from completion to acknowledgement of each live batch, in µs.
        var liveLags: [Int64] = []
        /// The time from the first publication to the acknowledgement of each backlog batch, in µs.
        var backlogLags: [Int64] = []
    }

    /// The batches that were published at least once.
    private(set) var sent = SequenceSet()
    private(set) var acknowledged = SequenceSet()
    /// The time of the first publication of each backlog batch, in µs since the start of live data, by sequence number.
    /// Backlog was complete before the run, so its lag is measured from this time.
    private var backlogSentAt: [Int64: Int64] = [:]

    /// Records that a batch was published.
    /// - Returns: whether this was its first publication.
    mutating func publish(_ seq: Int64, isBacklog: Bool, at elapsed: Int64) -> Bool {
        guard !sent.contains(seq) else { return false }
        sent.insert(seq)
        if isBacklog { backlogSentAt[seq] = elapsed }
        return true
    }

    /// Records an acknowledgement and returns the lags of the newly acknowledged batches.
    mutating func handle(
        _ ack: Acknowledgement, of device: Int, plan: FleetPlan, at elapsed: Int64
    ) -> NewlyAcknowledged {
        var result = NewlyAcknowledged()
        let new = ack.stored.subtracting(acknowledged).intersection(sent)
        for range in new.ranges {
            for seq in range {
                result.batches += 1
                result.samples += plan.sampleCount(seq)
                if let sentAt = backlogSentAt.removeValue(forKey: seq) {
                    result.backlogLags.append(elapsed - sentAt)
                } else {
                    result.liveLags.append(elapsed - plan.completionTime(device: device, seq: seq))
                }
            }
        }
        acknowledged.formUnion(new)
        return result
    }
}
