package import LockstepModel

/// Everything that a store knows of a device, besides its samples.
package struct StoredDevice: Sendable {
    /// The counts and times.
    package let summary: DeviceSummary
    /// The life cycle.
    package let lifecycle: LifecycleSnapshot
    /// The batch numbers.
    package let epochs: [EpochVerification]
}

extension StoreReader {
    /// Returns everything that the store knows of its devices, besides their samples, ordered by group and device.
    package func storedDevices() throws(StoreError) -> [StoredDevice] {
        try reading {
            let lifecycles = try LifecycleTable(in: database).read()
            let epochs = try epochs()
            return try summaries().map { id, summary in
                StoredDevice(
                    summary: summary, lifecycle: lifecycles[summary.address] ?? LifecycleSnapshot(),
                    epochs: epochs[id] ?? [])
            }
        }
    }
}
