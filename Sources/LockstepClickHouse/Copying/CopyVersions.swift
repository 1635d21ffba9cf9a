import LockstepModel
import LockstepStore

/// The versions of copied rows that hold everything about a device, such as those of `received_devices`.
///
/// A version is the time of the source in µs. What a collector has written to the target later has a higher one. The source
/// may change without a message, so that two copies would have the same version: the second one then gets the next number.
struct CopyVersions {
    /// The time in µs within which a version of the target is that of an earlier copy, and not that of a collector: nobody
    /// stops a collector, copies its store and starts another one in less.
    private static let copies: UInt64 = 1_000_000

    /// The highest version of each device in the target, by id.
    private let stored: [Int64: UInt64]

    init(stored: [Int64: UInt64]) { self.stored = stored }

    /// Reads the versions of a table.
    init(of table: String, _ client: ClickHouseClient) throws(StoreError) {
        // An earlier copy must not be missed.
        client.requireEverything()
        self.init(stored: try client.versions(of: table))
    }

    /// Returns the version of a device's row.
    func version(of device: StoredDevice) -> UInt64 {
        let times = [device.record.lastSeen, device.record.lifecycle.last?.since].compactMap(\.self)
        return version(
            of: DeviceRecord.id(of: device.record.address),
            at: UInt64(clamping: times.map(\.microseconds).max() ?? 0))
    }

    /// Returns the version of the row of the device with an id, of which the source knows the state at `time`, in µs.
    func version(of id: Int64, at time: UInt64) -> UInt64 {
        Self.version(at: time, stored: stored[id])
    }

    /// Returns the version of a row of which the source knows the state at `time`, in µs, and the target has a version.
    static func version(at time: UInt64, stored: UInt64?) -> UInt64 {
        guard let stored, stored >= time, stored - time < copies else { return time }
        return stored + 1
    }
}

extension ClickHouseClient {
    /// Returns the highest version of each device in a table, by id.
    func versions(of table: String) throws(StoreError) -> [Int64: UInt64] {
        let rows = try binary("SELECT device_id, max(version) FROM \(table) GROUP BY device_id") { reader in
            (try reader.integer(), try reader.unsigned())
        }
        return Dictionary(rows) { first, _ in first }
    }
}
