import FoundationEssentials
import Glibc
import LockstepModel
import LockstepSQLite
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("An outbox that can't be used", .temporaryFolder)
struct OutboxErrorTests {
    /// The error with which the outbox at `path` can't be opened.
    private func error(_ path: String) throws -> OutboxError {
        do {
            _ = try Outbox(path: path)
        } catch let error as OutboxError {
            return error
        }
        Issue.record("it was opened")
        return OutboxError(path: path, CancellationError())
    }

    @Test("because another agent uses it says which, and what to do")
    func second() throws {
        let path = TemporaryFolder.path + "/outbox"
        let first = try Outbox(path: path)
        let told = try withExtendedLifetime(first) { try error(path) }
        #expect(
            told.description
                == "another agent (process \(getpid())) uses the outbox \(path): "
                + "give each agent its own --outbox, and its own --device")
        #expect(!told.isFull)
    }

    @Test("can be opened again once the other is gone")
    func again() throws {
        _ = try openOutbox()
        _ = try openOutbox()
    }

    @Test("because its folder is missing says so")
    func noFolder() throws {
        let path = TemporaryFolder.path + "/missing/outbox"
        let told = try error(path)
        #expect(told.description.hasPrefix("the outbox \(path) can't be "))
        #expect(
            told.description == "the outbox \(path) can't be written: check that its folder exists and who owns it")
    }

    @Test("because it is a folder says so")
    func folder() throws {
        let path = TemporaryFolder.path + "/folder"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(
            try error(path).description
                == "the outbox \(path) can't be written: check that its folder exists and who owns it")
    }

    @Test("because it is no database says so")
    func noDatabase() throws {
        let path = TemporaryFolder.path + "/outbox"
        try Data(String(repeating: "no database ", count: 1000).utf8).write(to: URL(filePath: path))
        #expect(try error(path).description == "\(path) is damaged or no outbox: move it away to start with a new one")
    }

    @Test("because a newer program wrote it says so")
    func newer() throws {
        _ = try openOutbox()
        let path = TemporaryFolder.path + "/outbox"
        try SQLiteDatabase(path: path).execute("PRAGMA user_version = 99")
        #expect(try error(path).description.contains("written by a newer version of Lockstep"))
    }

    @Test("because the disk is full says so, and that this can be mended")
    func full() {
        let full = OutboxError(path: "/x", SQLiteError(code: 13, message: "database or disk is full"))
        #expect(full.isFull)
        #expect(full.description == "the disk is full: the outbox /x can't grow")
        #expect(OutboxError(path: "/x", SQLiteError(code: 778, message: "disk I/O error", systemError: ENOSPC)).isFull)
        #expect(OutboxError(path: "/y", full) == full)
    }
}
