import Glibc
public import LockstepModel
import LockstepSQLite

/// A device and its id in the store.
typealias NumberedDevice = (address: DeviceAddress, id: Int64)

/// A read-only connection to a store. It can be used while a collector writes to the store.
///
/// Each call sees the data that was committed when the call began. Use a reader from one thread only.
public final class StoreReader {
    let path: String
    let database: SQLiteDatabase
    /// The cached ids of devices. The id of a device never changes.
    var ids: [DeviceAddress: Int64] = [:]
    /// The cached lookups of ``compare(_:of:)``.
    var lookups: [SensorStream: SampleLookup] = [:]
    /// The cached rows of ``compare(_:of:)``.
    var recent: RecentRows?
    /// The cached estimates of ``clockPoints(of:from:to:on:)``.
    var waitingClocks: WaitingClocks?
    /// The samples that are not in the tables yet.
    let waiting: WaitingReader
    /// The function of averages in SQL, which the first query of them creates.
    private var sums: ColumnSums?
    /// The connections of ``envelope(_:cancellation:)``, which opens them.
    var envelopeConnections: [EnvelopeConnection] = []
    /// The number of samples of an envelope after which a second thread helps: opening its connection takes as long as
    /// reading these samples.
    var samplesBeforeHelp: Int64 = 5000

    /// Opens the store at `path`.
    /// - Throws: ``StoreError`` if the file does not exist, is not a store, or has another schema version.
    public init(path: String) throws(StoreError) {
        self.path = path
        guard !isFolder(path) else {
            throw StoreError(.notAStore, "\(path) is a folder: specify the path of a store in it")
        }
        guard access(path, F_OK) == 0 else {
            throw StoreError(
                .missing, "there is no store at \(path): check the path, or start a collector with this store")
        }
        do {
            database = try SQLiteDatabase(path: path, mode: .readOnly)
            try StoreSchema.check(database)
            waiting = try WaitingReader(in: database)
        } catch let error as SQLiteError where error.isReadOnlyOrCannotOpen && access(path, R_OK) == 0 {
            // A file in WAL mode needs its shared memory, also for readers.
            throw StoreError(
                .notAllowed,
                "cannot read \(path): this user may read the file, but there is no file \(path)-shm, and this user cannot "
                    + "create it in this folder. If this is a copy, make it with 'lockstep backup', or move it to a folder that "
                    + "this user can write. If it is the store of a collector, start the collector once (\(error))")
        } catch let error as SQLiteError where error.isReadOnlyOrCannotOpen {
            throw StoreError(
                .notAllowed,
                "cannot read \(path): give this user read access to the file and its folder. If there is no file "
                    + "\(path)-shm, start the collector once, which creates it (\(error))")
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Returns the function of averages in SQL.
    func columnSums() throws(SQLiteError) -> ColumnSums {
        if let sums { return sums }
        let created = try ColumnSums(in: database)
        sums = created
        return created
    }

    /// Returns the streams of the store: the built-in streams, and all streams that were ever declared for this store.
    /// - Throws: ``StoreError`` if the store cannot be read or a stored definition is invalid.
    public func catalog() throws(StoreError) -> StreamCatalog {
        do { return try StreamTable.catalog(in: database) } catch { throw StoreError(error, path: path) }
    }

    /// Runs SQLite's integrity check, which reads the whole file.
    /// - Returns: the problems found, or an empty array if the file is intact.
    /// - Throws: ``StoreError`` if the store cannot be read for a reason other than damage.
    public func integrityCheck() throws(StoreError) -> [String] {
        var findings: [String] = []
        do {
            let check = try database.prepare("PRAGMA quick_check")
            while try check.step() {
                if let finding = check.text(at: 0), finding != "ok" { findings.append(finding) }
            }
        } catch {
            // Severe damage makes the check itself fail.
            guard error.isCorrupt else { throw StoreError(error, path: path) }
            findings.append(error.message)
        }
        return findings
    }

    /// Runs several reads on one consistent snapshot of the store.
    func reading<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
        do {
            // Transactions cannot be nested.
            return try database.isInTransaction ? body() : database.transaction(.deferred, body)
        } catch { throw StoreError(error, path: path) }
    }

    /// Returns devices with their ids, ordered by group, device and id.
    /// - Parameters:
    ///   - group: the group of the devices, or nil for all groups.
    ///   - names: the names of the devices, or an empty list for all devices.
    func numberedDevices(
        group: GroupID? = nil, names: [DeviceID] = []
    ) throws(SQLiteError) -> [NumberedDevice] {
        // The conditions are in SQL, so that the other devices take little time.
        let isNamed = names.indices.map { "?\($0 + 2)" }.joined(separator: ", ")
        // More parameters would exceed a limit of SQLite.
        let isFiltered = !names.isEmpty && names.count <= 500
        let select = try database.prepare(
            """
            SELECT group_name, device, device_id FROM _devices
            WHERE (?1 IS NULL OR group_name = ?1) \(isFiltered ? "AND device IN (\(isNamed))" : "")
            ORDER BY group_name, device, device_id
            """)
        try select.bind(group?.rawValue, at: 1)
        if isFiltered { for (index, name) in names.enumerated() { try select.bind(name.rawValue, at: index + 2) } }
        let wanted = isFiltered ? [] : Set(names)
        var devices: [NumberedDevice] = []
        while try select.step() {
            guard let address = deviceAddress(select, at: 0) else { continue }
            if wanted.isEmpty || wanted.contains(address.device) { devices.append((address, select.int64(at: 2))) }
        }
        return devices
    }

    /// Returns the ranges in the table `batches` or `dropped` of all devices or of one, keyed by device id and epoch.
    func ranges(in table: String, of device: Int64? = nil) throws(SQLiteError) -> [Int64: [Epoch: SequenceSet]] {
        let select = try database.prepare(
            """
            SELECT device_id, epoch, first, last FROM \(table) \(device == nil ? "" : "WHERE device_id = ?1")
            ORDER BY device_id, epoch, first
            """)
        if let device { try select.bind(device, at: 1) }
        var ranges: [Int64: [Epoch: SequenceSet]] = [:]
        while try select.step() {
            guard let epoch = select.text(at: 1), let range = batchRange(select, at: 2) else { continue }
            ranges[select.int64(at: 0), default: [:]][Epoch(unchecked: epoch), default: SequenceSet()].insert(range)
        }
        return ranges
    }
}
