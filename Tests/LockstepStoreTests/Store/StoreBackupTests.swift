import Foundation
import Glibc
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Backups of a store", .temporaryFolder)
struct StoreBackupTests {
    private var copy: String { TemporaryFolder.path + "/copy.db" }

    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: TemporaryFolder.path).filter { $0.hasPrefix("copy") }
            .sorted()
    }

    @Test("a copy of a store that a collector uses has everything committed, in one file")
    func running() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration(1...5000), seq: 1))
        var steps = 0
        let summary = try StoreBackup(of: path, to: copy).run(replacing: false) { copied, all in
            steps += 1
            #expect(copied <= all && copied > 0)
            // A commit during the copy neither disturbs it nor is part of it.
            try store.write(received(acceleration([Int64(10_000 + steps)]), seq: Int64(1 + steps)))
        }
        #expect(summary.devices == 1 && summary.samples == 5000 && steps > 0)
        #expect(try files() == ["copy.db"])
        #expect(try StoreReader(path: copy).verification().first?.epochs.first?.received == [1...1])
        #expect(try StoreReader(path: path).devices().first?.samples == Int64(5000 + steps))
        // A collector can use it.
        try SQLiteStore(path: copy).write(received(acceleration([7]), seq: 2))
    }

    @Test("the view of a stream in a copy is that of the table alone if nothing waits there")
    func views() throws {
        let (store, path) = try newStore()
        for isWaiting in [true, false] {
            if isWaiting { try store.write(received(acceleration([1]))) } else { try store.startMerge() }
            try store.finishMerge()
            _ = try StoreBackup(of: path, to: copy).run(replacing: true) { _, _ in }
            for (file, expected) in [(path, true), (copy, isWaiting)] {
                let database = try SQLiteDatabase(path: file, mode: .readOnly)
                let sql = try database.text("SELECT sql FROM sqlite_schema WHERE name = 'accelerometer'")
                #expect(sql?.contains("UNION") == expected)
                #expect(try database.integer("SELECT count(*) FROM accelerometer") == 1)
            }
        }
    }

    @Test("an existing file is replaced only on request")
    func existing() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1]), seq: 1))
        try "precious".write(toFile: copy, atomically: true, encoding: .utf8)
        let error = try storeError { _ = try StoreBackup(of: path, to: copy).run(replacing: false) { _, _ in } }
        #expect(error.description == "\(copy) exists: choose another file, or replace it with --force")
        #expect(try String(contentsOfFile: copy, encoding: .utf8) == "precious")
        _ = try StoreBackup(of: path, to: copy).run(replacing: true) { _, _ in }
        #expect(try StoreReader(path: copy).devices().count == 1)
        #expect(throws: StoreError.self) { try StoreBackup(of: path, to: path).run(replacing: true) { _, _ in } }
    }

    @Test("a store is restored by a copy in the other direction, unless a collector uses it")
    func restore() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1]), seq: 1))
        _ = try StoreBackup(of: path, to: copy).run(replacing: false) { _, _ in }
        try store.write(received(acceleration([2]), seq: 2))
        let error = try storeError { _ = try StoreBackup(of: copy, to: path).run(replacing: true) { _, _ in } }
        #expect(error.code == .inUse && error.description.contains("is in use by a collector"))
        #expect(try StoreReader(path: path).devices().first?.samples == 2)
        withExtendedLifetime(store) {}
    }

    @Test("a store that a collector uses is not replaced, also if its lock file was deleted")
    func deletedLock() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1]), seq: 1))
        _ = try StoreBackup(of: path, to: copy).run(replacing: false) { _, _ in }
        unlink(path + ".lock")
        let error = try storeError { _ = try StoreBackup(of: copy, to: path).run(replacing: true) { _, _ in } }
        #expect(error.code == .inUse)
        withExtendedLifetime(store) {}
    }

    @Test("neither a side file of the store nor what is no file is replaced")
    func otherTargets() throws {
        let (store, path) = try newStore()
        for suffix in ["-wal", "-shm", "-journal", ".lock"] {
            let error = try storeError {
                _ = try StoreBackup(of: path, to: path + suffix).run(replacing: true) { _, _ in }
            }
            #expect(error.description.contains("has the name of a side file"))
        }
        #expect(mkfifo(copy, 0o600) == 0)
        let error = try storeError { _ = try StoreBackup(of: path, to: copy).run(replacing: true) { _, _ in } }
        #expect(error.description == "\(copy) is not a regular file: choose another file for the copy")
        withExtendedLifetime(store) {}
    }

    @Test("the message about a damaged store with a log names a copied backup as a cause")
    func damageMessage() throws {
        let error = SQLiteError(code: 11, message: "malformed", sql: nil)
        let path = TemporaryFolder.path + "/store"
        let advice = "delete \(path)-wal, or restore the backup with 'lockstep backup --force'"
        #expect(!StoreError(error, path: path).description.contains(advice))
        try "".write(toFile: path + "-wal", atomically: false, encoding: .utf8)
        #expect(StoreError(error, path: path).description.contains(advice))
    }

    @Test("the write-ahead log of a replaced store is not applied to the copy")
    func staleLog() throws {
        let path = TemporaryFolder.path + "/store"
        try SQLiteStore(path: path).write(received(acceleration([1]), seq: 1))
        _ = try StoreBackup(of: path, to: copy).run(replacing: false) { _, _ in }
        // As after a crash: the log has a commit that the file does not have.
        let store = try SQLiteStore(path: path)
        try store.write(received(acceleration([2]), seq: 2))
        let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        store.close()
        _ = consume store
        try log.write(to: URL(fileURLWithPath: path + "-wal"))
        _ = try StoreBackup(of: copy, to: path).run(replacing: true) { _, _ in }
        let reader = try StoreReader(path: path)
        #expect(try reader.devices().first?.samples == 1 && reader.integrityCheck().isEmpty)
    }

    @Test("what a killed copy has left is replaced, and the file of a copy that is being made is not")
    func killed() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration(1...5000), seq: 1))
        try Data("left".utf8).write(to: URL(fileURLWithPath: copy + ".part"))
        try Data("left".utf8).write(to: URL(fileURLWithPath: copy + ".part-journal"))
        var error: StoreError?
        let summary = try StoreBackup(of: path, to: copy).run(replacing: false) { _, _ in
            guard error == nil else { return }
            error = try storeError { _ = try StoreBackup(of: path, to: copy).run(replacing: false) { _, _ in } }
        }
        #expect(error?.code == .inUse && summary.samples == 5000)
        #expect(try files() == ["copy.db"])
        #expect(try StoreReader(path: copy).integrityCheck().isEmpty)
    }

    @Test("copies into one file that start together do not take it from each other")
    func together() async throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration(1...5000), seq: 1))
        for _ in 0..<30 {
            let copy = copy
            let errors = await withTaskGroup(of: StoreError?.self) { copies in
                for _ in 0..<2 {
                    copies.addTask {
                        do {
                            _ = try StoreBackup(of: path, to: copy).run(replacing: true) { _, _ in }
                            return nil
                        } catch { return error as? StoreError ?? StoreError(.other, "\(error)") }
                    }
                }
                return await copies.reduce(into: []) { $0.append($1) }
            }
            #expect(errors.contains(nil) && errors.allSatisfy { [nil, .inUse].contains($0?.code) }, "\(errors)")
            #expect(try files() == ["copy.db"])
            #expect(try StoreReader(path: copy).devices().first?.samples == 5000)
            unlink(copy)
        }
    }

    @Test("a copy that fails or is cancelled leaves nothing")
    func cancelled() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration(1...5000), seq: 1))
        #expect(throws: StoreBackup.Cancelled.self) {
            try StoreBackup(of: path, to: copy).run(replacing: false) { _, _ in throw StoreBackup.Cancelled() }
        }
        #expect(try files().isEmpty)
        let damaged = TemporaryFolder.path + "/damaged"
        _ = try StoreBackup(of: path, to: damaged).run(replacing: false) { _, _ in }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: damaged))
        let size = try file.seekToEnd()
        try file.seek(toOffset: size / 2)
        try file.write(contentsOf: Data(repeating: 0xff, count: 16_384))
        try file.close()
        let error = try storeError { _ = try StoreBackup(of: damaged, to: copy).run(replacing: false) { _, _ in } }
        #expect(error.code == .corrupt)
        #expect(try files().isEmpty)
    }
}
