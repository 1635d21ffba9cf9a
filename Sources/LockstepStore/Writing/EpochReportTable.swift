import LockstepModel
import LockstepSQLite

/// The table `_reports`: the batches that devices no longer have, and that are not stored.
struct EpochReportTable {
    static let create = """
        CREATE TABLE _reports (
            -- What devices report about batches that are not in this store, see the view v_gaps. An epoch has a row only if
            -- its device has reported something else than that it has all of them. Without a row, the batches of an
            -- earlier epoch than the current one (devices.session_epoch) are missing.
            device_id INTEGER NOT NULL,
            epoch TEXT NOT NULL,
            gone TEXT NOT NULL, -- batches that the device no longer has, as a JSON array of [first, last]
            before TEXT NOT NULL, -- others that the device no longer has, and that other stores received before this one
            PRIMARY KEY (device_id, epoch)
        ) WITHOUT ROWID
        """

    /// Whether the store is a copy of another one.
    let isCopy: Bool
    private var committed: [Int64: [Epoch: EpochReport]]
    private var pending: [Int64: [Epoch: EpochReport]] = [:]
    private let insert: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        isCopy = try StoreFile.isCopy(database)
        committed = try Self.read(in: database)
        insert = try database.prepare(
            "INSERT OR REPLACE INTO _reports (device_id, epoch, gone, before) VALUES (?, ?, ?, ?)", persistent: true)
    }

    /// The reports of a device, including those of the current transaction.
    subscript(device: Int64) -> [Epoch: EpochReport] { pending[device] ?? committed[device] ?? [:] }

    mutating func write(_ changes: [Epoch: EpochReport], of device: Int64) throws(SQLiteError) {
        guard !changes.isEmpty else { return }
        pending[device] = self[device].merging(changes) { $1 }
        for (epoch, report) in changes {
            try insert.bind(device, at: 1)
            try insert.bind(epoch.rawValue, at: 2)
            try insert.bind(EpochReport.json(report.gone), at: 3)
            try insert.bind(EpochReport.json(report.before), at: 4)
            try insert.run()
        }
    }

    /// Marks the pending changes as committed. Call after the transaction has committed.
    mutating func commit() {
        committed.merge(pending) { $1 }
        pending.removeAll(keepingCapacity: true)
    }

    /// Discards the pending changes. Call after the transaction was rolled back.
    mutating func rollBack() { pending.removeAll(keepingCapacity: true) }

    private static func read(in database: SQLiteDatabase) throws(SQLiteError) -> [Int64: [Epoch: EpochReport]] {
        let select = try database.prepare("SELECT device_id, epoch, gone, before FROM _reports")
        var reports: [Int64: [Epoch: EpochReport]] = [:]
        while try select.step() {
            guard let epoch = select.text(at: 1),
                let report = EpochReport(gone: select.text(at: 2) ?? "", before: select.text(at: 3) ?? "")
            else { continue }
            reports[select.int64(at: 0), default: [:]][Epoch(unchecked: epoch)] = report
        }
        return reports
    }
}
