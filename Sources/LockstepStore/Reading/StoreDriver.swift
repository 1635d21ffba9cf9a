package import LockstepModel

/// What each kind of store does in its own way, with the reason. ``StoreReader`` does the rest. Devices have the ids that they
/// have in the tables.
package protocol StoreDriver: AnyObject {
    /// The store.
    var source: any StoreSource { get }
    /// The number of samples that were read as summaries of minutes since the store was opened.
    var summarised: Int64 { get }

    /// Checks the files of the store, if this program can: those of a server are not here.
    func integrityCheck() throws -> [String]
    /// Runs several reads until the cancellation, on one snapshot if the store has snapshots: ClickHouse has none.
    func reading<Result>(
        until cancellation: QueryCancellation?, _ body: () throws -> Result
    ) throws(StoreError) -> Result
    /// Runs several merges that see the same samples.
    func snapshot<Result>(_ body: () throws -> Result) throws -> Result

    /// Returns the id of a device, or nil if it is known not to be stored. SQLite has it in a table; for ClickHouse it is a hash
    /// of the address.
    func id(of device: DeviceAddress) throws -> Int64?
    /// Returns whether the store has refined data of a kind. A replica may have to wait for it.
    func hasRows(of kind: RefinedKind) throws -> Bool
    /// Returns the estimates of clocks that wait, by device. In ClickHouse, nothing waits.
    func waitingClocks() throws -> [Int64: [ClockPoint]]
    /// Returns the source of a device's samples, or nil if there is no table for the stream. ClickHouse has a sample more than
    /// once after an insert was repeated.
    func samples(of stream: SensorStream, _ device: Int64, _ times: Range<Int64>) throws -> String?
    /// Returns the deletions of a device, or of all, in order of their requests.
    func deletions(of device: Int64?) throws -> [StoredDeletion]
    /// Returns the source of what has left by the rules of retention, or nil if nothing ever has: SQLite creates the table then.
    func expired() throws -> String?

    /// Calls `each` for every row of devices with the index of the device, in the order of devices, then time. SQLite has a
    /// cursor; ClickHouse answers at once, so that it is asked for one window of time after another.
    /// - Parameter each: returns false to end the query.
    func rows(
        _ detail: QueryDetail, of stream: SensorStream, _ devices: [Int64], _ times: Range<Int64>,
        until cancellation: QueryCancellation?, _ each: (Int, Timestamp, [Double]) throws -> Bool
    ) throws
    /// Calls `each` for every sample with the indices of device and stream, in the order of time, devices, then streams. SQLite
    /// has a cursor for each device and stream, which would be a request to a server.
    func merge(
        _ streams: [SensorStream], _ devices: [Int64], _ times: Range<Int64>,
        _ each: (Int, Int, Timestamp, [Double]) throws -> Void
    ) throws
    /// Returns the times of the oldest and newest sample of each device that has any. SQLite finds them by the key; ClickHouse
    /// reads the column of many devices at once.
    func timeRanges(
        of stream: SensorStream, _ devices: [Int64], _ times: Range<Int64>
    ) throws -> [Int64: ClosedRange<Int64>]
    /// Returns the buckets of an envelope within ``reading(until:_:)``. SQLite calls a function for each row; the server computes
    /// what it sends.
    func envelope(
        _ query: EnvelopeQuery, of device: Int64, until cancellation: QueryCancellation?
    ) throws -> [Envelope.Bucket]
    /// Returns every n-th sample. A server would have to send the others, too.
    func everyNth(_ query: EnvelopeQuery, of device: Int64) throws -> [(time: Timestamp, values: [Double])]

    /// Returns the time of the newest sample of each device. SQLite finds it by the key; ClickHouse looks for it in the month
    /// before the newest sample of any stream, because it reads all rows of a range.
    func newestTimes(of stream: SensorStream, _ devices: [DeviceRecord]) throws -> [Int64: Int64]
    /// Returns the newest sample of each device in which a column is known, likewise.
    func newestSamples(
        of stream: SensorStream, knowing column: String, _ devices: [DeviceRecord]
    ) throws -> [Int64: DeviceOverview.Sample]
    /// Counts the samples and the conflicts of each device. SQLite has a table of conflicts; in ClickHouse, they are rows of the
    /// table of samples.
    func counts(of stream: SensorStream) throws -> [Int64: (samples: Int64, conflicts: Int64)]
    /// Returns the conflicts of a device, those received last first, likewise.
    func conflicts(of device: DeviceRecord, _ times: Range<Int64>, limit: Int) throws -> [DeviceHealth.Conflict]
}
