import LockstepCommandLine
import LockstepModel

/// The times of a recording as text: ISO 8601 for wall-clock times, otherwise seconds from the first sample.
struct RecordingTimes {
    /// The time of the first sample, in µs as in the recording.
    let start: Int64

    /// Whether the recording has wall-clock times. Other recordings count from zero or from the boot of the device, which
    /// gives times long before the year 2000.
    private var isWallClock: Bool { start >= 946_684_800_000_000 }

    /// The title of a column of start times.
    var title: String { isWallClock ? "START" : "START (s)" }

    /// Returns the text of a time.
    func text(_ time: Int64) -> String {
        isWallClock
            ? Timestamp(microseconds: time).shown(decimals: 3) : fixed(Double(time - start) / 1e6, 2)
    }
}
