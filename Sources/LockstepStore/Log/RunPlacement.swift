/// Decides which rows of a full log are moved to a run, and when the runs are merged into the tables.
///
/// A merge into a table rewrites a page of each device. For a few rows of it, this costs many times as much as writing
/// them once more to a run, which is written in the order of its keys.
enum RunPlacement {
    /// The number of devices in a log from which rows are moved to a run. With fewer, pages of single rows matter little.
    static let minDevices = 1000
    /// The number of runs from which they are merged. A query of a device searches each of them.
    static let maxRuns = 64
    /// The number of rows in the runs from which they are merged. It limits the size of the runs and the time to read all
    /// of them.
    static let maxRows = 20_000_000

    /// The age of the first run from which the runs are merged. A fleet that keeps sending reaches ``maxRuns`` before: a
    /// log is merged after ten minutes at most. A fleet that has become smaller may never write a run again.
    static let maxAge = Duration.seconds(12 * 3600)

    /// The number of pages of each device and stream that the rows in the runs fill before they are merged.
    private static let pages = 4

    /// Returns the approximate size of a row in its table, in bytes.
    static func rowSize(columns: Int) -> Int { (columns + 2) * RowPlacement.valueSize }

    /// Returns whether the rows of one stream of a device are moved to a run: they would fill less than a page.
    /// - Parameter size: the size of a row in bytes.
    static func isMoved(rows: Int, size: Int) -> Bool { rows * size < StoreSchema.pageSize }

    /// Returns whether the runs are to be merged: they have enough rows to fill four pages of each device and stream, or
    /// have reached another limit.
    /// - Parameter age: the age of the first run.
    static func isFull(_ runs: RunSet, age: Duration = .zero) -> Bool {
        guard !runs.isEmpty else { return false }
        if runs.count >= maxRuns || runs.rows >= maxRows || age >= maxAge { return true }
        var bytes = 0
        var series = 0
        for stream in runs.streams {
            bytes += stream.bytes
            series += stream.devices
        }
        return bytes >= series * pages * StoreSchema.pageSize
    }
}
