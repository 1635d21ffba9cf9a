import LockstepCommandLine
import LockstepModel
import LockstepWire

/// Derives findings from the size of a collector's store.
struct SpaceDiagnosis {
    /// The time before the store is full from which it is reported, in µs.
    private static let notice: Int64 = 14 * 86_400_000_000
    /// The age of a reader from which it is reported, in s.
    private static let maxReaderAge = 600

    let name: String
    let space: CollectorHealth.Space
    let now: Timestamp

    var findings: [Finding] { [filling, refusal, reader].compactMap(\.self) }

    private var filling: Finding? {
        guard let full = space.fullAt, full - now < Self.notice else { return nil }
        let used = space.file - space.free
        return Finding(
            .warning, "collector \(name)",
            "its store will be full on \(full.shown) at the present rate; it has \(used >> 20) MB"
                + (space.limit.map { " of \($0 >> 20) MB" } ?? ""),
            space.limit == nil
                ? "set how long samples are kept with --keep, or a limit with --max-store, see docs/retention.md"
                : "from then on the oldest samples leave: set how long they are kept with --keep, or raise --max-store")
    }

    private var refusal: Finding? {
        guard !space.refused.isEmpty else { return nil }
        return Finding(
            .warning, "collector \(name)",
            "more than half of \(space.refused.joined(separator: ", ").printable) would expire at once, so nothing of it does",
            "check the rules of --keep and the clocks; if this is right, start the collector once with --confirm-retention"
        )
    }

    private var reader: Finding? {
        guard let process = space.reader, let age = space.readerAge, age >= Self.maxReaderAge else { return nil }
        return Finding(
            .warning, "collector \(name)",
            "process \(process) has been reading its store for \(age / 60) min; the write-ahead log has grown to "
                + "\(space.log >> 20) MB and cannot be emptied",
            "end that read: ps -p \(process) on the collector's machine shows the program")
    }
}
