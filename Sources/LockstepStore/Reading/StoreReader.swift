public import LockstepModel

/// Reads a store of any kind, also while a collector writes to it.
///
/// Each call sees the data that was committed when the call began. Use a reader from one thread only.
public final class StoreReader: MergeReading, ClockEstimateReading {
    package let driver: any StoreDriver
    var source: any StoreSource { driver.source }

    /// The number of samples that averages and envelopes have read as summaries of minutes since the reader was created. While a
    /// query runs, it includes those of the row that was returned last. See ``RowSource``.
    public var summarisedSamples: Int64 { driver.summarised }

    package init(_ driver: any StoreDriver) { self.driver = driver }

    /// Opens the SQLite store at `path`.
    /// - Throws: ``StoreError`` if the file does not exist, is not a store, or has another schema version.
    public convenience init(path: String) throws(StoreError) { self.init(try SQLiteDriver(path: path)) }

    /// Returns the streams of the store: the built-in streams, and all streams that were ever declared for this store.
    /// - Throws: ``StoreError`` if the store cannot be read or a stored definition is invalid.
    public func catalog() throws(StoreError) -> StreamCatalog { try StreamDefinition.catalog(source) }

    /// Checks the files of the store, if this program can. It reads the whole file of an SQLite store; ClickHouse checks its
    /// files when it reads them.
    /// - Returns: the problems found, or an empty array if the files are intact.
    /// - Throws: ``StoreError`` if the store cannot be read for a reason other than damage.
    public func integrityCheck() throws(StoreError) -> [String] {
        do { return try driver.integrityCheck() } catch { throw StoreError.of(error) }
    }

    /// Runs several merges that see the same samples, if they have the same streams, devices and time range: samples that
    /// are stored after the first one are not visible.
    /// - Throws: ``StoreError`` if the store cannot be read, or the error of `body`.
    public func snapshot<Result>(_ body: () throws -> Result) throws -> Result { try driver.snapshot(body) }

    /// Runs several reads, if possible on one consistent snapshot of the store, until the cancellation.
    func reading<Result>(
        until cancellation: QueryCancellation? = nil, _ body: () throws -> Result
    ) throws(StoreError) -> Result {
        try driver.reading(until: cancellation, body)
    }

    /// Returns the devices and their ids, ordered by group, device and id.
    /// - Parameters:
    ///   - group: the group of the devices, or nil for all groups.
    ///   - names: the names of the devices, or an empty list for all devices.
    func devices(group: GroupID? = nil, names: [DeviceID] = []) throws(StoreError) -> [(DeviceAddress, id: Int64)] {
        // The conditions are in SQL, so that the other devices take little time. A server limits the length of a statement.
        var conditions: [String] = []
        if let group { conditions.append("group_name = \(source.literal(group.rawValue))") }
        if !names.isEmpty, names.count <= EventRows.queryLimit {
            conditions.append(
                "device IN (\(names.map { source.literal($0.rawValue) }.joined(separator: ", ")))")
        }
        let condition = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
        let wanted = Set(names)
        return try source.rows(
            """
            SELECT DISTINCT group_name, device, device_id FROM \(source.dialect.devices) \(condition)
            ORDER BY group_name, device, device_id
            """
        ) { row throws(StoreError) in
            guard let address = deviceAddress(row, at: 0), wanted.isEmpty || wanted.contains(address.device) else {
                return nil
            }
            return (address, id: row.int64(at: 2))
        }
    }
}

extension StoreError {
    /// Returns an error of a read as one of the store.
    static func of(_ error: any Error) -> StoreError { error as? StoreError ?? StoreError(.other, "\(error)") }
}

/// Returns a time range in µs since 1970.
func timeRange(_ from: Timestamp?, _ to: Timestamp?) -> Range<Int64> {
    let start = from?.microseconds ?? .min
    return start..<max(start, to?.microseconds ?? .max)
}
