import LockstepModel
import Synchronization

/// The first event of subscribers to devices: all devices of a group. Subscribers that arrive together share it.
///
/// It has a lock of its own, so that only new subscribers wait while it is encoded. Its lock is taken before that of the
/// picture.
final class DeviceSnapshots: Sendable {
    /// An event with all devices of a group, up to a revision.
    struct Snapshot: Sendable {
        let event: [UInt8]
        let revision: UInt64
        fileprivate let group: GroupID?
        /// The time of the snapshot, in µs of the boot clock.
        fileprivate let at: Int64
    }

    /// The time for which a snapshot is reused, in µs.
    private static let maxAge: Int64 = 1_000_000
    private let last = Mutex<Snapshot?>(nil)

    /// Returns the event for a subscriber.
    /// - Parameter devices: returns a copy of the devices. It is called with the lock.
    func snapshot(of group: GroupID?, at moment: Moment, devices: () -> LiveDevices) -> Snapshot {
        last.withLock { last in
            if let last, last.group == group, (0...Self.maxAge).contains(moment.boot - last.at) { return last }
            let devices = devices()
            var texts: [Int: [UInt8]] = [:]
            let event = DeviceDeliveries.event(DeviceContent(group: group, revision: 0), devices, moment, &texts)
            let new = Snapshot(event: event, revision: devices.revision, group: group, at: moment.boot)
            last = new
            return new
        }
    }

    /// Forgets the last snapshot, which nobody needs without subscribers.
    func clear() { last.withLock { $0 = nil } }
}
