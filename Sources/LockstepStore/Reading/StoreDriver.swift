package import LockstepModel

/// What each kind of store does in its own way, mostly because samples need it to be fast. ``StoreReader`` does the rest.
/// Devices have the ids that they have in the tables.
package protocol StoreDriver: AnyObject {
    /// The store.
    var source: any StoreSource { get }

    /// Checks the files of the store, if this program can.
    func integrityCheck() throws -> [String]
    /// Runs several reads, if possible on one snapshot, until the cancellation.
    func reading<Result>(
        until cancellation: QueryCancellation?, _ body: () throws -> Result
    ) throws(StoreError) -> Result
    /// Runs several merges that see the same samples.
    func snapshot<Result>(_ body: () throws -> Result) throws -> Result

    /// Returns the id of a device, or nil if it is known not to be stored.
    func id(of device: DeviceAddress) throws -> Int64?
    /// Returns whether the store has refined data of a kind.
    func hasRows(of kind: RefinedKind) throws -> Bool
    /// Returns the estimates of clocks that wait, by device.
    func waitingClocks() throws -> [Int64: [ClockPoint]]
    /// Returns the source of a device's samples, or nil if there is no table for the stream.
    func samples(of stream: SensorStream, _ device: Int64, _ times: Range<Int64>) throws -> String?

    /// Calls `each` for every row of devices with the index of the device, in the order of devices, then time.
    /// - Parameter each: returns false to end the query.
    func rows(
        _ detail: QueryDetail, of stream: SensorStream, _ devices: [Int64], _ times: Range<Int64>,
        until cancellation: QueryCancellation?, _ each: (Int, Timestamp, [Double]) throws -> Bool
    ) throws
    /// Calls `each` for every sample with the indices of device and stream, in the order of time, devices, then streams.
    func merge(
        _ streams: [SensorStream], _ devices: [Int64], _ times: Range<Int64>,
        _ each: (Int, Int, Timestamp, [Double]) throws -> Void
    ) throws
    /// Returns the times of the oldest and newest sample of each device that has any.
    func timeRanges(
        of stream: SensorStream, _ devices: [Int64], _ times: Range<Int64>
    ) throws -> [Int64: ClosedRange<Int64>]
    /// Returns an envelope; `device` is nil if it is not stored.
    func envelope(_ query: EnvelopeQuery, of device: Int64?, until cancellation: QueryCancellation?) throws -> Envelope
    /// Returns every n-th sample.
    func everyNth(_ query: EnvelopeQuery, of device: Int64) throws -> ThinnedSamples

    /// Returns the time of the newest sample of each device.
    func newestTimes(of stream: SensorStream, _ devices: [DeviceRecord]) throws -> [Int64: Int64]
    /// Returns the newest sample of each device in which a column is known.
    func newestSamples(
        of stream: SensorStream, knowing column: String, _ devices: [DeviceRecord]
    ) throws -> [Int64: DeviceOverview.Sample]
    /// Counts the samples and the conflicts of each device.
    func counts(of stream: SensorStream) throws -> [Int64: (samples: Int64, conflicts: Int64)]
    /// Returns the conflicts of a device, those received last first.
    func conflicts(of device: DeviceRecord, _ times: Range<Int64>, limit: Int) throws -> [DeviceHealth.Conflict]
}
