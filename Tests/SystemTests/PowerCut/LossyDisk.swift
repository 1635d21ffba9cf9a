import Foundation
import LockstepTestSupport

/// A disk that loses the unsynced changes of one database in a power cut.
struct LossyDisk {
    private let folder: String
    private let database: String
    private let library: String
    /// The files when the program was started.
    private var image: DiskImage

    private var log: String { folder + "/disk.log" }

    /// Compiles the library that logs changes.
    /// - Parameters:
    ///   - database: the path of the database, absolute, as the program opens it.
    ///   - folder: for the library and its log.
    init(database: String, in folder: String) async throws {
        self.folder = folder
        self.database = database
        image = DiskImage(of: database)
        library = try await TestDisk.compile(in: folder)
    }

    /// The environment in which a program uses this disk. A sync takes 20 ms, so that many cuts come between the
    /// writes of a commit and its sync.
    var environment: [String: String] {
        [
            "LD_PRELOAD": library, "LOCKSTEP_TEST_DISK": database, "LOCKSTEP_TEST_DISK_LOG": log,
            "LOCKSTEP_TEST_DISK_DELAY": "20000",
        ]
    }

    /// Notes the files as they are, before the program is started.
    mutating func begin() {
        try? FileManager.default.removeItem(atPath: log)
        image = DiskImage(of: database)
    }

    /// Replaces the files by those that a power cut leaves, after the program was killed.
    func cut(survivors: DiskImage.Survivors, using random: inout some RandomNumberGenerator) throws {
        var image = image
        // A program that was killed early has not opened the database.
        if FileManager.default.fileExists(atPath: log) { try image.apply(log: log) }
        try image.write(to: database, survivors: survivors, using: &random)
    }
}
