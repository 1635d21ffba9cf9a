import LockstepModel

/// What one device sent, and what of it a collector said that it has.
struct DeliveryBook {
    /// What of a device's batches has just been acknowledged for the first time.
    struct Acknowledged: Equatable {
        var batches = 0
        var samples = 0
        /// µs that each live batch took from when it was due.
        var liveLags: [Int64] = []
        /// µs that each batch of the backlog took from when it was first published.
        var backlogLags: [Int64] = []
    }

    /// Published at least once.
    private(set) var sent = SequenceSet()
    private(set) var acknowledged = SequenceSet()
    /// When backlog was first published, in µs since the begin: when it was due says nothing.
    private var backlogSentAt: [Int64: Int64] = [:]

    /// Notes a batch that goes out.
    /// - Returns: whether it does so for the first time.
    mutating func publish(_ seq: Int64, isBacklog: Bool, at elapsed: Int64) -> Bool {
        guard !sent.contains(seq) else { return false }
        sent.insert(seq)
        if isBacklog { backlogSentAt[seq] = elapsed }
        return true
    }

    /// Takes in what a collector has, and measures how long that took.
    mutating func handle(
        _ ack: Acknowledgement, of device: Int, plan: FleetPlan, at elapsed: Int64
    ) -> Acknowledged {
        var result = Acknowledged()
        let new = ack.stored.subtracting(acknowledged).intersection(sent)
        for range in new.ranges {
            for seq in range {
                result.batches += 1
                result.samples += plan.sampleCount(seq)
                if let sentAt = backlogSentAt.removeValue(forKey: seq) {
                    result.backlogLags.append(elapsed - sentAt)
                } else {
                    result.liveLags.append(elapsed - plan.due(device: device, seq: seq))
                }
            }
        }
        acknowledged.formUnion(new)
        return result
    }
}
