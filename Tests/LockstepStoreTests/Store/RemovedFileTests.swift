import FoundationEssentials
import Glibc
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Files of an open store that are removed or replaced", .temporaryFolder)
struct RemovedFileTests {
    private static let files = FileManager.default
    /// The folder of the store, so that it can be renamed.
    private let folder = TemporaryFolder.path + "/data"
    private var path: String { folder + "/store" }

    private func open() throws -> SQLiteStore {
        try Self.files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return try SQLiteStore(path: path)
    }

    private func batch(_ seq: Int64) -> ReceivedBatch { received(acceleration([seq]), seq: seq) }

    private func expectLoss(_ store: SQLiteStore, _ text: String, seq: Int64 = 2) throws {
        let error = try storeError { try store.write(batch(seq)) }
        #expect(error.code == .missing)
        #expect(error.description.hasPrefix(text), "\(error)")
        // It stays like this, and nothing is written.
        let again = try storeError { try store.write(batch(seq + 1)) }
        #expect(again == error)
    }

    /// Opens the store again, and returns the numbers of its batches.
    private func reopened() throws -> [String] {
        let store = try SQLiteStore(path: path)
        defer { store.close() }
        return try store.database.rows("SELECT first, last FROM batches")
    }

    /// Returns the numbers of the batches in a database without its log.
    private func copied(_ file: String) throws -> [String] {
        let copy = TemporaryFolder.path + "/copy"
        try Self.files.copyItem(atPath: file, toPath: copy)
        let store = try SQLiteStore(path: copy)
        try store.mergeAll()
        return try store.database.rows("SELECT first, last FROM batches")
    }

    @Test("a removed store is noticed by the next commit, and a restart begins with a new one")
    func removed() throws {
        var store: SQLiteStore? = try open()
        try store?.write(batch(1))
        for suffix in ["", "-wal", "-shm"] { try Self.files.removeItem(atPath: path + suffix) }
        try expectLoss(#require(store), "\(path) was removed or moved while the collector uses it: move it back, or")
        store?.close()
        store = nil
        #expect(try reopened() == [])
    }

    @Test("a moved store is complete, and continues when it is back", arguments: ["store", ""])
    func moved(_ name: String) throws {
        let store = try open()
        try store.write(batch(1))
        let source = name.isEmpty ? folder : folder + "/" + name
        let target = TemporaryFolder.path + "/moved"
        try Self.files.moveItem(atPath: source, toPath: target)
        try expectLoss(store, "\(path) was removed or moved")
        #expect(try copied(name.isEmpty ? target + "/store" : target) == ["1|2"])
        try Self.files.moveItem(atPath: target, toPath: source)
        // Batch 2 was written before the loss was noticed, and not acknowledged.
        let result = try store.write(batch(2), batch(3))
        #expect(result.devices[device("one")] == IngestResult.Counts(stored: 1, duplicates: 1))
        #expect(result.received.values.first == [1...3])
    }

    /// Reports one event of the first group.
    private final class OneEvent: IngestObserver {
        private var outcome = ObservedOutcome()

        init() {
            outcome.events = [
                RuleEvent(
                    key: .init(rule: "high", device: device("one"), time: time(1)), at: time(1), value: nil,
                    text: "high",
                    isLate: false, ways: ["desk"])
            ]
        }

        func watches(_ stream: SensorStream) -> Bool { false }
        func beginGroup(_ group: IngestGroup) {}
        func willWrite(
            _ stream: SensorStream, of device: Int64, _ address: DeviceAddress, newest: () throws -> Int64?
        ) {}
        func didWrite(_ rows: Range<Int>, of run: SampleRun, device: Int64) {}
        func didChange(_ transition: LifecycleTransition, of device: Int64, _ address: DeviceAddress) {}
        func didUpdate(_ device: Int64, _ address: DeviceAddress, isForgotten: Bool) {}
        func tick(_ tick: IngestGroup.Tick, health: () throws -> [DeliveryFigures]) {}
        func keepsStates(named rule: String) -> Bool { true }
        func takeOutcome() -> ObservedOutcome {
            defer { outcome = ObservedOutcome() }
            return outcome
        }
        func didCommit() {}
        func didRollBack() {}
    }

    @Test("the notifications of the commit after which the files were lost are sent when they are back")
    func notifications() throws {
        let store = try open()
        store.setObserver(OneEvent())
        try Self.files.moveItem(atPath: path, toPath: path + "-moved")
        try expectLoss(store, "\(path) was removed or moved")
        try Self.files.moveItem(atPath: path + "-moved", toPath: path)
        #expect(try store.write(batch(2)).deliveries.map(\.way) == ["desk"])
        #expect(try store.write(batch(3)).deliveries.isEmpty)
    }

    @Test("a store that is replaced by another file is noticed, and its log does not damage that file")
    func replaced() throws {
        let other = TemporaryFolder.path + "/other"
        var second: SQLiteStore? = try SQLiteStore(path: other)
        try second?.write(received(acceleration([7]), from: device("two"), seq: 7))
        second?.close()
        try second?.database.checkpoint(truncate: true)
        second = nil
        var store: SQLiteStore? = try open()
        try store?.write(batch(1))
        try Self.files.removeItem(atPath: path)
        try Self.files.moveItem(atPath: other, toPath: path)
        try expectLoss(#require(store), "another file is at \(path), which the collector does not use: move")
        // As after SIGKILL: the log is empty.
        let log = try #require(FileStatus(path: path + "-wal"))
        #expect(log.size == 0)
        store?.close()
        store = nil
        #expect(try reopened() == ["7|7"])
    }

    @Test("a removed or replaced log is noticed, and what was in it is in the database", arguments: [false, true])
    func log(_ isReplaced: Bool) throws {
        let store = try open()
        try store.write(batch(1))
        try Self.files.removeItem(atPath: path + "-wal")
        if isReplaced { try Data().write(to: URL(filePath: path + "-wal")) }
        try expectLoss(
            store, isReplaced ? "another file is at \(path)-wal" : "\(path)-wal was removed or moved")
        #expect(try copied(path) == ["1|2"])
    }

    @Test("a truncated store is noticed, and a smaller one after VACUUM is not")
    func truncated() throws {
        let store = try open()
        try store.write(received(acceleration(0..<20_000), seq: 1))
        try store.mergeAll()
        try store.database.checkpoint(truncate: true)
        try store.write(batch(2))
        try store.database.execute("DELETE FROM _accelerometer")
        try store.database.execute("VACUUM")
        try store.database.checkpoint(truncate: true)
        try store.write(batch(3))
        let handle = try #require(fopen(path, "r+"))
        #expect(ftruncate(fileno(handle), 0) == 0)
        let error = try storeError { try store.write(batch(4)) }
        #expect(error.description.hasPrefix("\(path) was truncated"), "\(error)")
        fclose(handle)
    }

    @Test("a store that is opened by a symbolic link has its log and lock beside the file itself")
    func symbolicLink() throws {
        try Self.files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: path))
        let link = TemporaryFolder.path + "/link"
        try Self.files.createSymbolicLink(atPath: link, withDestinationPath: path)
        let store = try SQLiteStore(path: link)
        try store.write(batch(1))
        #expect(Self.files.fileExists(atPath: path + ".lock") && !Self.files.fileExists(atPath: link + ".lock"))
        let error = try storeError { _ = try SQLiteStore(path: path) }
        #expect(error.code == .inUse && error.description.contains("(process "))
        try Self.files.removeItem(atPath: link)
        try expectLoss(store, "\(link) was removed or moved")
    }
}
