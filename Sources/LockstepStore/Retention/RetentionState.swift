import LockstepModel
import LockstepSQLite

/// What a store knows of the samples that leave it.
struct RetentionState {
    /// The statements for the table of a stream.
    struct Statements {
        let count: SQLiteStatement
        let delete: SQLiteStatement
        let oldest: SQLiteStatement
        let rate: SQLiteStatement

        init(_ table: String, in database: SQLiteDatabase) throws(SQLiteError) {
            count = try database.prepare(
                """
                SELECT count(*), max(t) FROM (
                    SELECT t FROM \(table) WHERE device_id = ? AND t >= ? AND t < ? ORDER BY t LIMIT ?)
                """)
            delete = try database.prepare("DELETE FROM \(table) WHERE device_id = ? AND t >= ? AND t < ?")
            oldest = try database.prepare("SELECT min(t) FROM \(table) WHERE device_id = ? AND t >= ?")
            rate = try database.prepare(
                """
                SELECT count(*), max(t) - min(t) FROM (
                    SELECT t FROM \(table) WHERE device_id = ? ORDER BY t DESC LIMIT 100)
                """)
        }

        /// Counts the first samples of a range.
        func count(_ device: Int64, _ times: Range<Int64>, limit: Int) throws(SQLiteError) -> (count: Int, last: Int64?)
        {
            defer { count.reset() }
            try count.bind(device, at: 1)
            try count.bind(times.lowerBound, at: 2)
            try count.bind(times.upperBound, at: 3)
            try count.bind(Int64(limit), at: 4)
            guard try count.step() else { return (0, nil) }
            return (Int(count.int64(at: 0)), count.optionalInt64(at: 1))
        }

        func delete(_ device: Int64, _ times: Range<Int64>) throws(SQLiteError) {
            try delete.bind(device, at: 1)
            try delete.bind(times.lowerBound, at: 2)
            try delete.bind(times.upperBound, at: 3)
            try delete.run()
        }

        /// Returns the time of the oldest sample from a time on.
        func oldest(_ device: Int64, from time: Int64) throws(SQLiteError) -> Int64? {
            defer { oldest.reset() }
            try oldest.bind(device, at: 1)
            try oldest.bind(time, at: 2)
            return try oldest.step() ? oldest.optionalInt64(at: 0) : nil
        }

        /// Returns the samples per µs of the newest samples.
        func rate(_ device: Int64) throws(SQLiteError) -> Double {
            defer { rate.reset() }
            try rate.bind(device, at: 1)
            guard try rate.step(), case let time = rate.int64(at: 1), time > 0 else { return 0 }
            return Double(rate.int64(at: 0)) / Double(time)
        }
    }

    let settings: Retention
    let expired: ExpiredTable?
    private var statements: [Int: Statements] = [:]
    /// What leaves at present, or nil.
    var pass: RetentionPass?
    /// When to look again whether something is to leave, and when to apply the rules again.
    var due = ContinuousClock.now
    var rulesDue = ContinuousClock.now
    /// Whether deleting has failed since the last commit, for example because the disk is full.
    var hasFailed = false
    /// The number of samples that were stored while others are to leave, and that are not made up for.
    var owed = 0
    /// The numbers of samples that have left and that arrived too late, since the store was opened.
    var deleted = 0
    var late = 0
    /// What has not left because a confirmation is missing, by table, with the greatest limit.
    var refusals: [Int: (refusal: Retention.Refusal, to: Int64)] = [:]
    /// The holds as of the last application of the rules to all series, or nil if there was none.
    var appliedHolds: [Hold]?
    /// The holds as the current transaction has read them, or nil.
    var holds: [(device: Int64, hold: Hold)]?
    /// Whether samples leave until the store is smaller.
    var isShedding = false
    var isTooSmall = false
    var forecast = SpaceForecast()
    var readers = LogReaders()
    /// The last report that the store fills up, in µs of the boot clock.
    var reportedFull: Int64?

    init(_ settings: Retention, in database: SQLiteDatabase) throws(SQLiteError) {
        self.settings = settings
        expired = try ExpiredTable(in: database)
    }

    mutating func statements(of index: Int, _ table: String, in database: SQLiteDatabase) throws(SQLiteError)
        -> Statements
    {
        if let known = statements[index] { return known }
        let new = try Statements(table, in: database)
        statements[index] = new
        return new
    }

    /// Returns streams in the order in which they leave a store that is too large.
    static func order(_ streams: [(table: Int, name: String, rate: Double)], by order: [StreamPattern]) -> [Int] {
        streams.map { stream in
            (stream, order.firstIndex { $0.selects(stream.name) } ?? order.count)
        }.sorted { ($0.1, $1.0.rate, $0.0.table) < ($1.1, $0.0.rate, $1.0.table) }.map(\.0.table)
    }
}
