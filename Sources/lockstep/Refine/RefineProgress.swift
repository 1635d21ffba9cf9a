import LockstepCommandLine
import LockstepModel

/// The progress of a refinement.
enum RefineProgress {
    /// Returns the text: ` 45 %, computed to 2027-01-15T08:00:00Z`.
    /// - Parameters:
    ///   - time: the time of the newest row, in µs since 1970.
    ///   - range: the times of the rows.
    static func line(_ time: Int64, of range: Range<Int64>) -> String {
        percentage(Double(time - range.lowerBound) / Double(range.upperBound - range.lowerBound))
            + ", computed to \(Timestamp(microseconds: time).shown)"
    }
}
