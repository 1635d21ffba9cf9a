public import LockstepModel

/// Reads the estimates of devices' clocks.
public protocol ClockEstimateReading: AnyObject {
    /// Returns the estimates of a device's clock in a time range on the device's time line, with those up to an hour
    /// before and after it, or the nearest ones if there are none.
    ///
    /// If several collectors compared their clocks, only the estimates of the collector with the most are returned.
    func clockPoints(of device: DeviceAddress, from: Timestamp?, to: Timestamp?) throws(StoreError) -> [ClockPoint]

    /// Returns the newest estimate of the clock of each device that has any, ordered by group and device.
    func newestClocks() throws(StoreError) -> [(device: DeviceAddress, point: ClockPoint)]
}
