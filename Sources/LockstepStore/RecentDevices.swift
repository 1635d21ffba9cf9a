package import LockstepModel

/// The devices that this process has added to a store within the last minute.
///
/// A report of such a device shows what is from before the store, see ``EpochReport``. An agent reports every 30 s, so each
/// has reported by then. After a restart of the process, there are none.
package struct RecentDevices: Sendable {
    /// The time after which a device is no longer new, in µs.
    private static let period: Int64 = 60_000_000

    /// When each device was added, in µs since boot.
    private var added: [Int64: Int64] = [:]
    /// The epochs with received batches.
    private var epochs: [Int64: Set<Epoch>] = [:]
    /// The time since boot until which no device is removed.
    private var nextRemoval: Int64 = 0
    private let now: @Sendable () -> Int64

    /// - Parameter now: returns the time since boot in µs.
    package init(now: @escaping @Sendable () -> Int64) { self.now = now }

    /// Whether there are no such devices.
    package var isEmpty: Bool { added.isEmpty }

    /// Adds a device, unless it was added before.
    package mutating func add(_ device: Int64) { if added[device] == nil { added[device] = now() } }

    /// Removes a device that was not stored.
    package mutating func remove(_ device: Int64) {
        added[device] = nil
        epochs[device] = nil
    }

    /// Adds an epoch of a device, if it is new.
    package mutating func add(_ epoch: Epoch, of device: Int64) {
        if added[device] != nil { epochs[device, default: []].insert(epoch) }
    }

    /// Returns the epochs with received batches of a device, or nil if it is not new any more.
    package mutating func epochs(of device: Int64) -> Set<Epoch>? {
        guard !isEmpty else { return nil }
        let now = now()
        if now >= nextRemoval {
            nextRemoval = now + Self.period
            for (device, time) in added where now - time > Self.period { remove(device) }
        }
        guard let time = added[device], now - time <= Self.period else { return nil }
        return epochs[device] ?? []
    }
}
