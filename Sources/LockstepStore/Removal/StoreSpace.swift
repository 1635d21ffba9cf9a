import Glibc
public import LockstepModel
import LockstepSQLite

/// The size of a store, and what leaves it.
public struct StoreSpace: Hashable, Sendable {
    /// The size of the file and of its write-ahead log, in bytes.
    public var file: Int64
    public var log: Int64
    /// The size of the pages of the file that are free for new samples, in bytes.
    public var free: Int64
    /// The size that the content may have, in bytes, or nil if only the disk limits it.
    public var limit: Int64?
    /// The time at which the limit or the disk is reached at the present rate, or nil if that is not foreseeable.
    public var fullAt: Timestamp?
    /// The numbers of samples that have left, and that arrived too late, since the collector started.
    public var expired = 0
    public var late = 0
    /// What has not left because a confirmation is missing.
    public var refusals: [Retention.Refusal] = []
    /// The process that has read the store for the longest time without a pause while the log could not be emptied.
    public var reader: Reader?

    /// A process that keeps the write-ahead log from being emptied.
    public struct Reader: Hashable, Sendable {
        /// The id of the process.
        public let process: Int32
        /// The time for which it has been reading, in µs.
        public let age: Int64
    }
}

/// Which processes read a store for long, from repeated looks at the locks of the system.
struct LogReaders {
    /// The first look with each process that was found at each look since then, in µs of the boot clock.
    private var since: [Int32: Int64] = [:]

    /// Records a look.
    mutating func record(_ processes: Set<Int32>, at boot: Int64) {
        since = since.filter { processes.contains($0.key) }
        for process in processes where since[process] == nil { since[process] = boot }
    }

    /// Returns the process that was found for the longest time.
    func oldest(at boot: Int64) -> StoreSpace.Reader? {
        since.min { ($0.value, $0.key) < ($1.value, $1.key) }.map { .init(process: $0.key, age: boot - $0.value) }
    }

    /// Returns the processes that read a database, from the text of `/proc/locks`.
    ///
    /// A reader has a shared lock on one of the bytes 123 to 127 of the file `…-shm`: SQLite's `WAL_READ_LOCK`. The file must not
    /// be opened here: closing it would release the locks of this process.
    /// - Parameter inode: the number of that file.
    static func processes(in locks: String, inode: UInt64, except own: Int32) -> Set<Int32> {
        var processes: Set<Int32> = []
        for line in locks.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count == 8, fields[1] == "POSIX", fields[3] == "READ", let process = Int32(fields[4]),
                process > 0, process != own, fields[5].split(separator: ":").last == Substring("\(inode)"),
                let first = Int(fields[6]), let last = Int(fields[7]), last >= 123, first <= 127
            else { continue }
            processes.insert(process)
        }
        return processes
    }
}

/// Returns the free and the total space of the disk of a file, in bytes.
package func diskSpace(at path: String) -> (free: Int64, size: Int64)? {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    let block = Int64(status.f_frsize)
    return (Int64(status.f_bavail) * block, Int64(status.f_blocks) * block)
}
