import FoundationEssentials
import Glibc
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("Errors of the outbox", .temporaryFolder)
struct OutboxErrorTests {
    /// Returns the error of opening the outbox at `path`.
    private func error(_ path: String) throws -> OutboxError {
        do {
            _ = try Outbox(path: path)
        } catch let error as OutboxError {
            return error
        }
        Issue.record("the outbox was opened")
        return OutboxError(path: path, CancellationError())
    }

    @Test("the error for an outbox in use names the other process and what to do")
    func second() throws {
        let path = TemporaryFolder.path + "/outbox"
        let first = try Outbox(path: path)
        let error = try withExtendedLifetime(first) { try self.error(path) }
        #expect(
            error.description
                == "another agent (process \(getpid())) uses the outbox '\(path)'. "
                + "Give each agent its own --outbox and --device.")
        #expect(!error.isFull)
    }

    @Test("a missing folder is reported")
    func noFolder() throws {
        let path = TemporaryFolder.path + "/missing/outbox"
        let error = try self.error(path)
        #expect(
            error.description
                == "cannot write outbox '\(path)'. Check that its folder exists and that you may write to it.")
    }

    @Test("a folder in place of the file is reported")
    func folder() throws {
        let path = TemporaryFolder.path + "/folder"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(
            try error(path).description
                == "'\(path)' is a folder. Name a file with --outbox, such as '\(path)/outbox.db'.")
        #expect(!FileManager.default.fileExists(atPath: path + ".lock"))
    }

    @Test("a file that is not a database is reported")
    func noDatabase() throws {
        let path = TemporaryFolder.path + "/outbox"
        try Data(String(repeating: "no database ", count: 1000).utf8).write(to: URL(filePath: path))
        #expect(
            try error(path).description
                == "'\(path)' is damaged or not an outbox. Move it away to start with a new one.")
    }

    @Test("an outbox of a newer version is reported")
    func newer() throws {
        _ = try openOutbox()
        let path = TemporaryFolder.path + "/outbox"
        try SQLiteDatabase(path: path).execute("PRAGMA user_version = 99")
        #expect(try error(path).description.contains("written by a newer version of Lockstep"))
    }

    @Test(
        "an error of the disk is reported in words",
        arguments: [
            (EROFS, "cannot write outbox '/x': its file system is read-only"), (EIO, "(Input/output error)"),
            (ENODEV, "(No such device)"), (EUCLEAN, "see dmesg"), (EACCES, "permission denied"),
            (EPERM, "permission denied"),
        ])
    func diskErrors(systemError: Int32, part: String) {
        let text = OutboxError(
            path: "/x", SQLiteError(code: 778, message: "disk I/O error", sql: "INSERT", systemError: systemError)
        ).description
        #expect(text.contains(part) && !text.contains("778") && !text.contains("INSERT"))
        let locked = OutboxError(path: "/x", FileLockError.cannotOpen(file: "/x.lock", systemError: systemError))
        #expect(locked.description == text)
    }

    @Test(
        "an error that is not one of the disk does not blame the disk",
        arguments: [
            (EMFILE, "this process has too many open files"), (ENFILE, "the system has too many open files"),
            (ENOLCK, "has no locks"), (ELOOP, "symbolic links"), (ENOMEM, "Cannot allocate memory"),
        ])
    func otherErrors(systemError: Int32, part: String) {
        for error: any Error in [
            SQLiteError(code: 14, message: "unable to open database file", systemError: systemError),
            FileLockError.cannotOpen(file: "/x.lock", systemError: systemError),
        ] {
            let error = OutboxError(path: "/x", error)
            #expect(error.description.contains(part) && !error.description.contains("disk reports"), "\(error)")
        }
    }

    @Test("an outbox that becomes read-only while it is open keeps its content, and can be written again later")
    func readOnly() throws {
        let outbox = try openOutbox()
        _ = try outbox.accept([block([1])], at: 0)
        try outbox.database.execute("PRAGMA query_only = 1")
        let error = #expect(throws: OutboxError.self) { try outbox.accept([block([2])], at: 1) }
        #expect(error?.description.hasPrefix("cannot write outbox") == true)
        try outbox.database.execute("PRAGMA query_only = 0")
        #expect(try outbox.accept([block([2])], at: 2).entries.map(\.position.seq) == [2])
        #expect(outbox.pending == [outbox.epoch: [1...2]])
    }

    @Test("a full disk is reported, with what to do")
    func full() {
        let full = OutboxError(path: "/x", SQLiteError(code: 13, message: "database or disk is full"))
        #expect(full.isFull)
        #expect(full.description == "cannot write outbox '/x': the disk is full. Free some space.")
        #expect(OutboxError(path: "/x", SQLiteError(code: 778, message: "disk I/O error", systemError: ENOSPC)).isFull)
        #expect(OutboxError(path: "/y", full) == full)
        for systemError in [ENOSPC, EDQUOT] {
            #expect(
                OutboxError(path: "/x", FileLockError.cannotOpen(file: "/x.lock", systemError: systemError)) == full)
        }
    }
}
