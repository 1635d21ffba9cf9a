import FoundationEssentials
import Glibc
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("The file of an open outbox", .temporaryFolder)
struct OutboxFileTests {
    private let path = TemporaryFolder.path + "/outbox"

    /// Returns an outbox with the batches 1 to 3, of which the first is acknowledged.
    private func filled() throws -> Outbox {
        let outbox = try openOutbox()
        _ = try outbox.accept([block([1]), block([2]), block([3])], at: 0)
        _ = try outbox.accept([], removing: [outbox.epoch: [1...1]], at: 1)
        return outbox
    }

    private func remove(_ suffixes: String...) {
        for suffix in suffixes { unlink(path + suffix) }
    }

    /// Expects that the next batch and all earlier ones can be found at the path when the process ends.
    private func expectAllAtPath(
        _ outbox: Outbox, next: Int64 = 4, after restoration: OutboxFile.Restoration = .written
    ) throws {
        let accepted = try outbox.accept([block([next])], at: 2)
        #expect(accepted.entries.map(\.position.seq) == [next] && accepted.error == nil)
        #expect(outbox.takeRestoration() == restoration && outbox.takeRestoration() == nil)
        if restoration == .written { #expect(permissions(path) == 0o600) }
        #expect(throws: OutboxError.self, "the lock is held") { try openOutbox() }
        // As after SIGKILL.
        let copy = try Outbox(path: try copyOutbox())
        #expect(copy.epoch == outbox.epoch && copy.pending == [outbox.epoch: [2...next]])
        #expect(try copy.database.text("PRAGMA integrity_check") == "ok")
        for seq in 2...next { #expect(try copy.entry(at: BatchPosition(epoch: copy.epoch, seq: seq)) != nil) }
        // It continues without writing the file again.
        #expect(try outbox.accept([block([next + 1])], at: 3).entries.map(\.position.seq) == [next + 1])
        #expect(outbox.takeRestoration() == nil && access(path + ".new", F_OK) != 0)
    }

    private func permissions(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test(
        "the file is written again if it was removed, alone or with its other files",
        arguments: [[""], ["-wal"], ["", "-wal"], ["", "-wal", "-shm", ".lock", "-ballast"]])
    func removed(_ suffixes: [String]) throws {
        let outbox = try filled()
        for suffix in suffixes { remove(suffix) }
        try expectAllAtPath(outbox)
    }

    @Test("a symbolic link stays, and leads to the file that is written again", arguments: [false, true])
    func symbolicLink(existsBefore: Bool) throws {
        let link = TemporaryFolder.path + "/links/link"
        try FileManager.default.createDirectory(
            atPath: TemporaryFolder.path + "/links", withIntermediateDirectories: true)
        if existsBefore { _ = try openOutbox() }
        #expect(symlink(path, link) == 0)
        let outbox = try Outbox(path: link)
        _ = try outbox.accept([block([1]), block([2]), block([3])], at: 0)
        _ = try outbox.accept([], removing: [outbox.epoch: [1...1]], at: 1)
        #expect(outbox.takeRestoration() == nil, "the file is not lost")
        // The space must be reserved on the disk of the file.
        #expect(access(path + "-ballast", F_OK) == 0 && access(link + "-ballast", F_OK) != 0)
        remove("")
        try expectAllAtPath(outbox)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        #expect(FileIdentity(path: link) == FileIdentity(path: path))
    }

    @Test("a copy that cannot be finished does not stay, and is tried again")
    func unfinished() throws {
        let outbox = try filled()
        // Within a transaction, the file cannot be copied.
        try outbox.database.execute("BEGIN")
        remove("")
        #expect(throws: SQLiteError.self) { try outbox.file.restore() }
        #expect(access(path + ".new", F_OK) != 0)
        try outbox.database.execute("COMMIT")
        try expectAllAtPath(outbox)
    }

    @Test("no batch is written to the earlier file if only the statements could not be prepared")
    func statements() throws {
        let outbox = try filled()
        remove("")
        #expect(try outbox.file.restore() == .written)
        #expect(try outbox.accept([block([4])], at: 2).entries.map(\.position.seq) == [4])
        let copy = try Outbox(path: try copyOutbox())
        #expect(copy.pending == [outbox.epoch: [2...4]])
    }

    @Test("the file is written again if it was moved, and the log that is left at the path does not damage it")
    func moved() throws {
        let outbox = try filled()
        #expect(rename(path, path + "-moved") == 0)
        try expectAllAtPath(outbox)
        #expect(FileIdentity(path: path) != FileIdentity(path: path + "-moved"))
    }

    @Test("nothing counts as accepted while the folder is missing, and nothing is lost when it is back")
    func folder() throws {
        let folder = TemporaryFolder.path
        let outbox = try filled()
        #expect(rename(folder, folder + "-moved") == 0)
        #expect(throws: OutboxError.self) { try outbox.accept([block([4])], at: 2) }
        #expect(outbox.takeRestoration() == nil)
        #expect(rename(folder + "-moved", folder) == 0)
        #expect(try outbox.accept([block([4])], at: 3).entries.map(\.position.seq) == [4])
        // It is the same file.
        #expect(outbox.takeRestoration() == nil)
    }

    @Test("another file at the path is not overwritten, and the outbox is written again when it is gone")
    func replaced() throws {
        let outbox = try filled()
        remove("")
        try Data("something else".utf8).write(to: URL(filePath: path))
        let error = #expect(throws: OutboxError.self) { try outbox.accept([block([4])], at: 2) }
        #expect(error?.description.contains("another file has taken the place of the outbox") == true)
        #expect(try String(contentsOf: URL(filePath: path), encoding: .utf8) == "something else")
        remove("")
        try expectAllAtPath(outbox)
    }

    @Test("an older copy at the path is not used")
    func olderCopy() throws {
        let outbox = try filled()
        let copy = try copyOutbox()
        _ = try outbox.accept([block([4])], at: 2)
        #expect(rename(copy, path) == 0)
        #expect(throws: OutboxError.self) { try outbox.accept([block([5])], at: 3) }
        remove("")
        try expectAllAtPath(outbox, next: 5)
    }

    @Test("a copy with the same content at the path is used, as on a disk that is mounted again")
    func sameCopy() throws {
        let outbox = try filled()
        try outbox.database.execute("VACUUM INTO '\(path)-copy'")
        remove("", "-wal", "-shm")
        #expect(rename(path + "-copy", path) == 0)
        let copy = FileIdentity(path: path)
        try expectAllAtPath(outbox, after: .copyOpened)
        #expect(FileIdentity(path: path) == copy)
    }

    @Test("if another process has locked the path meanwhile, nothing counts as accepted until it ends")
    func lockTaken() throws {
        let outbox = try filled()
        remove(".lock")
        do {
            let other = try FileLock(path: path)
            let error = try withExtendedLifetime(other) {
                try #require(throws: OutboxError.self) { try outbox.accept([block([4])], at: 2) }
            }
            #expect(error.description.contains("uses the outbox"))
        }
        #expect(try outbox.accept([block([4])], at: 3).entries.map(\.position.seq) == [4])
    }
}
