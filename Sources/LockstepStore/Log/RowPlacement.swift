import LockstepModel

/// Decides whether the rows of a run are written to their table directly, or appended to the log.
///
/// A table is keyed by (device, time), so a run rewrites the last page of its device and fills new ones. If it fills
/// several pages, this costs less than writing the rows twice. Under heavy load, it also takes less processor time.
struct RowPlacement {
    /// The approximate size of a run in bytes from which it is written directly: two pages.
    static let directBytes = 8192
    /// The number of rows of a device in the log from which its rows are written directly. It limits the time to merge
    /// one device.
    static let maxRowsInLog = 8000
    /// The approximate size of a value in bytes.
    private static let valueSize = 9
    /// The mean number of rows per device and stream in a turn from which they are written directly under load.
    private static let busyRows = 30

    /// The parts, runs and rows of the current transaction.
    private var parts = 0
    private var sources: Set<Source> = []
    private var rows = 0
    /// Whether the last transaction had several parts with many rows per device.
    private(set) var isBusy = false

    private struct Source: Hashable {
        let device: Int64
        let stream: String
    }

    mutating func beginPart() { parts += 1 }

    mutating func add(_ run: SampleRun, device: Int64) {
        // Only a transaction with several parts is evaluated.
        guard parts > 1 || isBusy else { return }
        sources.insert(Source(device: device, stream: run.samples.stream.name))
        rows += run.samples.count
    }

    func isDirect(_ run: SampleRun, rowsInLog: Int) -> Bool {
        let bytes = run.samples.count * (run.samples.stream.columns.count + 2) * Self.valueSize
        return isBusy || bytes >= Self.directBytes || rowsInLog >= Self.maxRowsInLog
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
