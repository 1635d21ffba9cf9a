import LockstepCommandLine

/// The progress of a copy.
enum BackupProgress {
    /// Returns the text: `copying  45 %, 36.0 of 80.0 MB`. The last percent is the check.
    static func line(_ copied: Int64, of all: Int64) -> String {
        guard copied < all else { return "checking \(size(all))" }
        return "copying \(percentage(Double(copied) / Double(all))), \(megabytes(copied)) of \(size(all))"
    }

    /// Returns a size: `80.0 MB`.
    static func size(_ bytes: Int64) -> String { megabytes(bytes) + " MB" }

    private static func megabytes(_ bytes: Int64) -> String { fixed(Double(bytes) / 1e6, 1) }
}
