import LockstepModel

/// What one device may cost all others: what it leaves in memory and in the store besides its samples.
///
/// An honest device stays far below. One beyond keeps its batches, and may send them later.
struct DeviceLimits: Hashable, Sendable {
    /// How often a device may send in an epoch that it has not used lately. The collector and the store keep each epoch,
    /// and a device whose clock is set often has many.
    var epochs = Allowance.Rate(burst: 250, interval: 120_000_000)
    /// How often a presence is read. An agent sends one every 30 s, and a queue of the broker may hold those of days.
    var presences = Allowance.Rate(burst: 10_000, interval: 1_000_000)
    /// How often a presence may change the state of a device. Each transition is stored, published and logged.
    var transitions = Allowance.Rate(burst: 250, interval: 10_000_000)
    /// How many estimates of its clock are stored. An agent has a new one every 30 s.
    var estimates = Allowance.Rate(burst: 1000, interval: 5_000_000)
    /// How many of its rejected messages are stored. All are counted.
    var rejections = Allowance.Rate(burst: 1000, interval: 10_000_000)
    /// The number of ranges of batch numbers in an epoch from which a batch must adjoin one of them. It is divided by the
    /// number of epochs that the device uses, but not below ``minRanges``.
    var ranges = 10_000
    var minRanges = 100
}

/// What a device has used up of its ``DeviceLimits``.
struct DeviceUsage {
    /// The number of epochs that are known besides the last one.
    static let maxEarlier = 255

    /// The epoch that was used last, or nil before the first one.
    private var latest: Epoch?
    /// Other epochs that were used since the start, about in the order of their last use.
    private var earlier: [Epoch] = []
    private var epochs = Allowance()
    private var presences = Allowance()
    private var transitions = Allowance()
    private var estimates = Allowance()
    private var newestEstimate: (epoch: Epoch, time: Timestamp)?

    var epochCount: Int { earlier.count + (latest == nil ? 0 : 1) }

    /// Uses an epoch. The first one is free.
    /// - Returns: false if the device has used too many others.
    mutating func use(_ epoch: Epoch, _ limits: DeviceLimits, at boot: Int64) -> Bool {
        guard let last = latest, last != epoch else {
            latest = epoch
            return true
        }
        if let index = earlier.firstIndex(of: epoch) {
            earlier.remove(at: index)
        } else {
            guard epochs.take(limits.epochs, at: boot) else { return false }
            if earlier.count == Self.maxEarlier { earlier.removeFirst() }
        }
        earlier.append(last)
        latest = epoch
        return true
    }

    mutating func usePresence(_ limits: DeviceLimits, at boot: Int64) -> Bool {
        presences.take(limits.presences, at: boot)
    }

    mutating func useTransition(_ limits: DeviceLimits, at boot: Int64) -> Bool {
        transitions.take(limits.transitions, at: boot)
    }

    /// Uses an estimate of the clock. Those of an epoch arrive in the order of their times, and each arrives repeatedly.
    /// - Returns: false if it need not be stored: it was received before, or there are too many.
    mutating func useEstimate(_ time: Timestamp, of epoch: Epoch, _ limits: DeviceLimits, at boot: Int64) -> Bool {
        if let newestEstimate, newestEstimate.epoch == epoch, time <= newestEstimate.time { return false }
        guard estimates.take(limits.estimates, at: boot) else { return false }
        newestEstimate = (epoch, time)
        return true
    }

    /// Forgets what the current transaction has used, because its messages are received again. The epochs stay known.
    mutating func restore() {
        (epochs, presences, transitions, estimates) = (Allowance(), Allowance(), Allowance(), Allowance())
        newestEstimate = nil
    }
}
