import LockstepCommandLine
import LockstepExport
import LockstepModel

/// The progress of an export.
enum ExportProgress {
    /// Returns a bar: `[#########-----------]  45 %, 120000 samples, 8 MB, 12 s left`.
    static func line(_ progress: SampleExport.Progress, bytes: Int64, elapsed: Duration) -> String {
        let width = 20
        let fraction = min(max(progress.fraction, 0), 1)
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        let left = fraction > 0.01 ? ", \(Int((elapsed / .seconds(1)) * (1 - fraction) / fraction)) s left" : ""
        return "[\(bar)] \(percentage(fraction)), \(counted(progress.samples, "sample")), \(bytes >> 20) MB\(left)"
    }
}
