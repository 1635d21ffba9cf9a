import LockstepModel
import LockstepSQLite
import Testing

@testable import LockstepStore

/// Returns a reader of a new store with samples (in µs after ``start``) of `field/a` at 5, of `lab/a` at 1, 2 and 3, and
/// of `lab/b` at 4 and 6.
func readerOfThreeDevices() throws -> StoreReader {
    let (store, path) = try newStore()
    try store.write(
        received(acceleration([4, 6]), from: device("b")), received(acceleration([3, 1, 2]), from: device("a")),
        received(acceleration([5]), from: device("a", group: "field")))
    return try StoreReader(path: path)
}

extension StoreReader {
    /// The driver of an SQLite store.
    var sqlite: SQLiteDriver { get throws { try #require(driver as? SQLiteDriver) } }
    /// The connection to an SQLite store.
    var database: SQLiteDatabase { get throws { try sqlite.database } }

    /// Returns the device and the time (in µs after ``start``) of each row: `lab/a 2`.
    func rows(
        _ detail: QueryDetail = .samples, group: String? = nil, devices: [String] = [], from: Int64? = nil,
        to: Int64? = nil, limit: Int? = nil
    ) throws -> [String] {
        var rows: [String] = []
        try query(
            stream: .accelerometer, detail: detail, group: group.map(GroupID.init(unchecked:)),
            devices: devices.map(DeviceID.init(unchecked:)), from: from.map(time), to: to.map(time), limit: limit
        ) { rows.append("\($0.device) \($0.time.microseconds - start)") }
        return rows
    }
}
