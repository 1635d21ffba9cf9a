/// The limits of maintenance. Tests reduce them.
struct MergeLimits {
    /// The length of the write-ahead log at which a checkpoint is needed, in pages of a new store: 49 MB. A long log
    /// saves copying: a page that changes several times before the checkpoint is copied once, such as those of a log of rows,
    /// which are used again after each merge.
    var checkpointPages = 24_000
    /// The number of such pages by which the write-ahead log grows before the next attempt, if a reader or an error has
    /// kept it from starting again: 4 MB.
    var checkpointRetryPages = 2000
    /// The maximum duration of a slice of a merge, apart from its commit.
    var slice = Duration.milliseconds(6)
    /// The number of rows that the active log can always receive before a commit does a share of the merge. It does not
    /// depend on the devices in the log, because the merge is that of other rows. Their index takes about 10 MB.
    var minPaceRows = 200_000
    /// The number of rows in the active log at which a commit finishes the merge. Their index takes about 100 MB.
    var maxRows = 2_000_000
    /// The maximum time that a commit merges while the active log is less than half full.
    var pace = Duration.milliseconds(10)
    /// The approximate size of all rows of the runs, in bytes, up to which a table is cleared by one statement: a million
    /// rows of an accelerometer. It frees the pages without writing them, but has to read all of them. Deleting rows in
    /// pieces writes their pages once more.
    var maxBytesAtOnce = 45_000_000
    /// The number of rows that are deleted at once if there are more bytes.
    var rowsPerPiece = 1000
}

extension MergeLimits {
    /// How full the active log is: 1 if it can receive nothing more before the merge is finished.
    func fill(rows: Int, turns: Int64) -> Double {
        max(Double(rows) / Double(maxRows), Double(turns) / Double(LogSchema.maxTurns))
    }

    /// Returns the maximum time that a commit merges. It grows to a second, so that a collector without time for
    /// maintenance seldom has to wait for the whole merge at the end.
    func paceDuration(fill: Double) -> Duration { max(pace, .seconds(1) * min(1, 2 * fill - 1)) }

    /// Returns the share of a merge that is to be done.
    /// - Parameters:
    ///   - rows: the number of rows that the active log has.
    ///   - startRows: the number that it had at the start of the merge.
    ///   - fullRows: the number from which it is merged itself.
    func paceShare(rows: Int, startRows: Int, fullRows: Int, fill: Double) -> Double {
        let limit = max(1, minPaceRows, fullRows)
        return max(Double(rows - max(limit, startRows)) / Double(limit), 2 * fill - 1)
    }
}
