import LockstepModel

/// Decides whether the rows of a run are written to their table directly, or appended to the log.
///
/// A table is keyed by (device, time), so a run rewrites the last page of its device and fills new ones. If it fills
/// several pages, this costs less than writing the rows twice. Under heavy load, it also takes less processor time.
struct RowPlacement {
    /// The approximate size of a run in bytes from which it is written directly: four pages of a new store.
    static let directBytes = 8192
    /// The number of rows of a device in the log from which its rows are written directly. It limits the time to merge
    /// one device.
    static let maxRowsInLog = 8000
    /// The approximate size of a value in bytes.
    static let valueSize = 9
    /// The mean number of rows per device and stream in a turn from which they are written directly under load.
    private static let busyRows = 30
    /// The number of samples of a part that shows load: more than a collector that keeps up receives at once.
    private static let largePart = 10_000

    /// The parts, runs and rows of the current transaction.
    private var parts = 0
    private var sources: Set<Source> = []
    private var rows = 0
    /// Whether the last transaction had several parts with many rows per device.
    private(set) var isBusy = false
    /// Whether the current part has so many samples that the collector is under load.
    private var isLargePart = false

    private struct Source: Hashable {
        let device: Int64
        /// The index of the stream's table.
        let table: Int
    }

    /// - Parameter samples: the number of samples of the part.
    mutating func beginPart(samples: Int) {
        parts += 1
        isLargePart = samples >= Self.largePart
    }

    mutating func add(_ run: SampleRun, table: Int, device: Int64) {
        // Only a transaction with several parts is evaluated.
        guard parts > 1 || isBusy else { return }
        sources.insert(Source(device: device, table: table))
        rows += run.samples.count
    }

    func isDirect(_ run: SampleRun, rowsInLog: Int) -> Bool {
        let bytes = run.samples.count * (run.samples.stream.columns.count + 2) * Self.valueSize
        let isFast = isBusy || (isLargePart && run.samples.count >= Self.busyRows)
        return isFast || bytes >= Self.directBytes || rowsInLog >= Self.maxRowsInLog
    }

    mutating func commit() {
        isBusy = parts > 1 && rows >= Self.busyRows * sources.count
        reset()
    }

    mutating func rollBack() { reset() }

    private mutating func reset() {
        parts = 0
        sources.removeAll(keepingCapacity: true)
        rows = 0
    }
}
