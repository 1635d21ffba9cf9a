import LockstepModel
import LockstepStore
import LockstepWire

/// What the devices have used up of their ``DeviceLimits``. Devices are numbered as in ``Intake``.
struct DeviceAccounts {
    var limits = DeviceLimits()
    private var usages: [DeviceUsage] = []
    /// The batch numbers of epochs that have too many ranges.
    private var fragmented: [DeviceEpoch: SequenceSet] = [:]
    /// What was used up of the rejections of each device, by the first levels of the topic.
    private var rejections: [String: Allowance] = [:]
    /// The number of messages that were rejected and not stored.
    private var unstoredRejections = 0

    /// Adds the account of the next device.
    mutating func add() { usages.append(DeviceUsage()) }

    /// Records that a device has sent a numbered batch.
    /// - Throws: the reason for a rejection. The agent keeps the batch.
    mutating func use(
        _ position: BatchPosition, of device: Int, _ address: DeviceAddress, at moment: Moment
    ) throws(PayloadError) {
        do { try use(position.epoch, of: device, at: moment) } catch {
            throw PayloadError(error.description, position: position, isRetryable: true)
        }
        guard !fragmented.isEmpty else { return }
        let key = DeviceEpoch(device: address, epoch: position.epoch)
        if let received = fragmented[key], !received.overlaps(position.seq - 1...position.seq + 1) {
            throw PayloadError(tooManyGaps(position.epoch), position: position, isRetryable: true)
        }
    }

    /// Records that a device has sent a presence, before it is read.
    /// - Throws: the reason for a rejection.
    mutating func usePresence(of device: Int, at moment: Moment) throws(PayloadError) {
        guard usages[device].usePresence(limits, at: moment.boot) else {
            throw PayloadError("too many presences: \(limits.presences)")
        }
    }

    /// Records what a presence of a device uses.
    /// - Parameter changesState: whether it leads to a transition.
    /// - Throws: the reason for a rejection.
    mutating func use(
        _ presence: Presence, of device: Int, _ address: DeviceAddress, changesState: Bool, at moment: Moment
    ) throws(PayloadError) {
        if let epoch = presence.epoch {
            try use(epoch, of: device, at: moment)
            let key = DeviceEpoch(device: address, epoch: epoch)
            if let received = fragmented[key], !presence.dropped.isEmpty,
                received.union(SequenceSet(presence.dropped)).rangeCount > received.rangeCount
            {
                throw PayloadError(tooManyGaps(epoch))
            }
        }
        guard changesState else { return }
        guard usages[device].useTransition(limits, at: moment.boot) else {
            throw PayloadError(
                "too many changes of state: \(limits.transitions)")
        }
    }

    private mutating func use(_ epoch: Epoch, of device: Int, at moment: Moment) throws(PayloadError) {
        guard usages[device].use(epoch, limits, at: moment.boot) else {
            throw PayloadError(
                "too many new epochs: \(limits.epochs); check why the clock of the device is set so often")
        }
    }

    private func tooManyGaps(_ epoch: Epoch) -> String {
        "too many missing batches in the epoch '\(epoch)': its numbers have too many ranges; send the missing batches, or "
            + "start a new epoch"
    }

    /// Returns whether an estimate of a device's clock is to be stored.
    mutating func useEstimate(_ time: Timestamp, of device: Int, _ epoch: Epoch, at moment: Moment) -> Bool {
        usages[device].useEstimate(time, of: epoch, limits, at: moment.boot)
    }

    /// Keeps the batch numbers of an epoch that has too many ranges.
    /// - Parameter device: the number of the device, or nil if it is unknown.
    mutating func didCommit(_ scope: IngestResult.Scope, of device: Int?) {
        // Nearly all have one range.
        let count = scope.received.rangeCount
        guard count > limits.minRanges || !fragmented.isEmpty else { return }
        let epochs = device.map { usages[$0].epochCount } ?? 1
        let limit = max(limits.minRanges, limits.ranges / max(epochs, 1))
        fragmented[scope.key] = count > limit ? scope.received : nil
    }

    /// Forgets what devices have used up, because their messages are received again.
    mutating func restore() {
        for index in usages.indices { usages[index].restore() }
        rejections.removeAll()
        unstoredRejections = 0
    }

    /// The number of topics with an allowance of rejections. They are forgotten together.
    private static let maxRejectionKeys = 10_000

    mutating func storesRejection(of topic: some Collection<UInt8>, at moment: Moment) -> Bool {
        // The topic may be invalid: its first levels identify the device, or whoever could write there.
        var slashes = 0
        let end = topic.prefix(256).firstIndex { byte in
            if byte == UInt8(ascii: "/") { slashes += 1 }
            return slashes == 3
        }
        let key = String(decoding: topic.prefix(256).prefix(upTo: end ?? topic.prefix(256).endIndex), as: UTF8.self)
        if rejections[key] == nil, rejections.count >= Self.maxRejectionKeys { rejections.removeAll() }
        return rejections[key, default: Allowance()].take(limits.rejections, at: moment.boot)
    }

    mutating func takeUnstoredRejections() -> Int {
        defer { unstoredRejections = 0 }
        return unstoredRejections
    }

    mutating func addUnstoredRejection() { unstoredRejections += 1 }
}
