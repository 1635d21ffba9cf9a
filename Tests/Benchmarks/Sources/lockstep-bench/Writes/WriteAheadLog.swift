import Foundation

/// The progress of a writer of an SQLite database, as it appears in the files of the write-ahead log.
/// See https://www.sqlite.org/walformat.html.
struct WriteAheadLog {
    /// The number of commits since the log was created.
    let commits: Int
    /// The number of times that the log started again after a checkpoint.
    let restarts: Int

    /// - Parameter database: The path of a database that a writer has open.
    init(of database: String) throws {
        // iChange of the index header, in the byte order of the machine.
        commits = Int(try Self.number(in: database + "-shm", at: 8))
        // The checkpoint sequence number of the log header, in big-endian byte order.
        restarts = Int(UInt32(bigEndian: try Self.number(in: database + "-wal", at: 12)))
    }

    private static func number(in path: String, at offset: UInt64) throws -> UInt32 {
        guard let file = FileHandle(forReadingAtPath: path) else { throw Failure("cannot read \(path)") }
        try file.seek(toOffset: offset)
        guard let data = try file.read(upToCount: 4), data.count == 4 else { throw Failure("\(path) is too short") }
        return data.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
    }
}
