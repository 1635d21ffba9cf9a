import Foundation

/// The disk of a database, which can become read-only while a program uses it.
public struct ReadOnlyDisk {
    private let database: String
    private let library: String
    private var file: String { database + ".read-only" }

    /// Creates a disk that can be written.
    /// - Parameters:
    ///   - database: the path of the database, absolute, as the program opens it.
    ///   - library: the path of the compiled ``TestDisk``.
    public init(database: String, library: String) throws {
        self.database = database
        self.library = library
        try Data([0]).write(to: URL(fileURLWithPath: file))
    }

    /// The environment in which a program uses this disk.
    public var environment: [String: String] {
        ["LD_PRELOAD": library, "LOCKSTEP_TEST_DISK": database, "LOCKSTEP_TEST_DISK_READ_ONLY": file]
    }

    /// Lets writes to the database fail, or succeed again.
    public func set(isReadOnly: Bool) throws {
        // Written in place, because the program has the file mapped.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.write(contentsOf: Data([isReadOnly ? 1 : 0]))
        try handle.close()
    }
}
