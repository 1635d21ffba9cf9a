import LockstepModel
import LockstepStore
import LockstepWire

// The limits of each device.

extension Intake {
    /// Records that a device has sent a numbered batch.
    /// - Throws: the reason for a rejection. The agent keeps the batch.
    mutating func use(_ position: BatchPosition, of device: Int, at moment: Moment) throws(PayloadError) {
        do { try use(position.epoch, of: device, at: moment) } catch {
            throw PayloadError(error.description, position: position, isRetryable: true)
        }
        guard !fragmented.isEmpty else { return }
        let key = DeviceEpoch(device: devices[device].address, epoch: position.epoch)
        if let received = fragmented[key], !received.overlaps(position.seq - 1...position.seq + 1) {
            throw PayloadError(tooManyGaps(position.epoch), position: position, isRetryable: true)
        }
    }

    /// Records that a device has sent a presence, before it is read.
    /// - Throws: the reason for a rejection.
    mutating func usePresence(of device: Int, at moment: Moment) throws(PayloadError) {
        guard devices[device].usage.usePresence(deviceLimits, at: moment.boot) else {
            throw PayloadError("too many presences: \(deviceLimits.presences)")
        }
    }

    /// Records what a presence of a device uses.
    /// - Parameter changesState: whether it leads to a transition.
    /// - Throws: the reason for a rejection.
    mutating func use(
        _ presence: Presence, of device: Int, changesState: Bool, at moment: Moment
    ) throws(PayloadError) {
        if let epoch = presence.epoch {
            try use(epoch, of: device, at: moment)
            let key = DeviceEpoch(device: devices[device].address, epoch: epoch)
            if let received = fragmented[key], !presence.dropped.isEmpty,
                received.union(SequenceSet(presence.dropped)).rangeCount > received.rangeCount
            {
                throw PayloadError(tooManyGaps(epoch))
            }
        }
        guard changesState else { return }
        guard devices[device].usage.useTransition(deviceLimits, at: moment.boot) else {
            throw PayloadError(
                "too many changes of state: \(deviceLimits.transitions)")
        }
    }

    private mutating func use(_ epoch: Epoch, of device: Int, at moment: Moment) throws(PayloadError) {
        guard devices[device].usage.use(epoch, deviceLimits, at: moment.boot) else {
            throw PayloadError(
                "too many new epochs: \(deviceLimits.epochs); check why the clock of the device is set so often")
        }
    }

    private func tooManyGaps(_ epoch: Epoch) -> String {
        "too many missing batches in the epoch '\(epoch)': its numbers have too many ranges; send the missing batches, or "
            + "start a new epoch"
    }

    /// Keeps the batch numbers of epochs that have too many ranges.
    mutating func didCommit(_ scope: IngestResult.Scope) {
        // Nearly all have one range.
        let count = scope.received.rangeCount
        guard count > deviceLimits.minRanges || !fragmented.isEmpty else { return }
        let epochs = index(of: scope.key.device).map { devices[$0].usage.epochCount } ?? 1
        let limit = max(deviceLimits.minRanges, deviceLimits.ranges / max(epochs, 1))
        fragmented[scope.key] = count > limit ? scope.received : nil
    }

    /// Forgets what devices have used up, because their messages are received again.
    mutating func restoreAllowances() {
        for index in devices.indices { devices[index].usage.restore() }
        rejections.removeAll()
        unstoredRejections = 0
    }

    /// The number of topics with an allowance of rejections. They are forgotten together.
    private static let maxRejectionKeys = 10_000

    /// Returns whether a rejected message is to be stored.
    mutating func storesRejection(of topic: some Collection<UInt8>, at moment: Moment) -> Bool {
        // The topic may be invalid: its first levels identify the device, or whoever could write there.
        var slashes = 0
        let end = topic.prefix(256).firstIndex { byte in
            if byte == UInt8(ascii: "/") { slashes += 1 }
            return slashes == 3
        }
        let key = String(decoding: topic.prefix(256).prefix(upTo: end ?? topic.prefix(256).endIndex), as: UTF8.self)
        if rejections[key] == nil, rejections.count >= Self.maxRejectionKeys { rejections.removeAll() }
        return rejections[key, default: Allowance()].take(deviceLimits.rejections, at: moment.boot)
    }

    /// Takes the number of messages that were rejected and not stored.
    mutating func takeUnstoredRejections() -> Int {
        defer { unstoredRejections = 0 }
        return unstoredRejections
    }
}
