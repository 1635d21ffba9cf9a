/// When the samples that wait are moved to their tables, and other limits of maintenance. Tests change them.
///
/// A merge rewrites the last page of each device and stream, so many rows of each should be moved at once. But what waits
/// must be read for each query that is not about the tables alone, and needs memory for its index.
struct MergeLimits {
    /// The size of what waits of each device and stream from which a merge starts, in pages.
    var pagesPerStream = 8
    /// The least size of what waits from which a merge starts, in bytes. It limits the time to move one device as well.
    var minSize = 256 * 1024
    /// The greatest size of what waits at the start of a merge, in bytes. It matters for more than 4,000 devices; to read so
    /// much takes some seconds in SQL.
    var maxSize = 64 * 1024 * 1024
    /// The time after which a merge starts, even if less waits.
    var maxAge = Duration.seconds(600)
    /// The length of the write-ahead log at which a checkpoint is needed, in pages of a new store: 49 MB. A long log
    /// saves copying: a page that changes several times before the checkpoint is copied once, such as those of `_waiting`,
    /// which are used again after each merge.
    var checkpointPages = 24_000
    /// The number of such pages by which the write-ahead log grows before the next attempt, if a reader or an error has
    /// kept it from starting again: 4 MB.
    var checkpointRetryPages = 2000
    /// The maximum duration of a slice of a merge, apart from its commit.
    var slice = Duration.milliseconds(6)
    /// How long what leaves by the rules pauses after a slice between two commits, in lengths of the slice.
    var removalPause = 9
    /// The time between two looks for minutes to summarise.
    var summaryInterval = Duration.seconds(60)
    /// The greatest size of what waits at a clean stop that is merged then, in bytes: it takes some tenths of a second.
    var maxSizeAtStop = 4 * 1024 * 1024

    /// Returns the size of what waits from which it is merged.
    /// - Parameter streams: the number of pairs of a device and a stream that wait.
    func fullSize(streams: Int, pageSize: Int) -> Int {
        min(max(minSize, streams * pagesPerStream * pageSize), maxSize)
    }

    /// Returns the share of a merge that must be done, if the commits leave no time for it in between: nothing until a quarter
    /// of the next merge waits, and all of it at half, because the end of a merge writes again what waits then.
    func dueShare(size: Int, fullSize: Int) -> Double { 4 * Double(size) / Double(max(1, fullSize)) - 1 }
}
