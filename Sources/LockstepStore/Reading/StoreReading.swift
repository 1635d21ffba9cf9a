public import LockstepModel

/// Reads a store of any kind, also while a collector writes to it. Use a reader from one thread only.
public protocol StoreReading: MergeReading, ClockEstimateReading, HistoryReading, FaultReading, RefinedReading,
    DeletionReading
{
    /// The events of rules, or nil if this kind of store has none.
    var events: (any EventReading)? { get }

    /// Returns the streams of the store: the built-in streams, and all streams that were ever declared for this store.
    func catalog() throws(StoreError) -> StreamCatalog

    /// Returns a summary of every device, ordered by group and device id.
    func devices() throws(StoreError) -> [DeviceSummary]

    /// Returns the stored data of devices, ordered by group and device.
    /// - Parameters:
    ///   - devices: the devices to verify, or nil for every device. Devices that are not stored are ignored.
    ///   - counting: whether to count the samples and conflicts of each stream, which reads the keys of all samples.
    func verification(devices: Set<DeviceAddress>?, counting: Bool) throws(StoreError) -> [DeviceVerification]

    /// Compares every sample of `block` with the stored samples of `device`.
    func compare(_ block: SampleBlock, of device: DeviceAddress) throws(StoreError) -> BlockComparison

    /// Calls `each` for every row of a query, ordered by group, device and time. Memory use does not grow with the result.
    /// - Parameters:
    ///   - stream: the stream to read.
    ///   - detail: the kind of rows: samples, the newest sample only, or aggregates.
    ///   - group: the group to read, or nil for all groups.
    ///   - devices: the ids of the devices to read, or an empty array for all devices.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - limit: the maximum number of rows over all devices, or nil for no limit.
    ///   - each: receives the rows. An error that it throws ends the query.
    func query(
        stream: SensorStream, detail: QueryDetail, group: GroupID?, devices: [DeviceID], from: Timestamp?,
        to: Timestamp?, limit: Int?, each: (SampleRow) throws -> Void
    ) throws
}

extension StoreReader: StoreReading {}
