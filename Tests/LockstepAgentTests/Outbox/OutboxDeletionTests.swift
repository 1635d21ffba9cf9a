import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepAgent

/// Copies the outbox in the test's folder as a killed agent would leave it.
/// - Parameter logSize: the number of bytes of the write-ahead log that reached the disk; nil for all.
/// - Returns: the path of the copy.
func copyOutbox(logSize: Int? = nil) throws -> String {
    let path = TemporaryFolder.path + "/outbox"
    let copy = TemporaryFolder.path + "/copy"
    for suffix in ["", "-wal", "-shm", "-ballast"] { try? FileManager.default.removeItem(atPath: copy + suffix) }
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let log = try Data(contentsOf: URL(filePath: path + "-wal"))
    try log.prefix(logSize ?? log.count).write(to: URL(filePath: copy + "-wal"))
    return copy
}

@Suite("The deletion of acknowledged batches", .temporaryFolder)
struct OutboxDeletionTests {
    /// A batch of some kilobytes.
    private func large(_ number: Int64) -> SampleBlock { block(number * 1000..<number * 1000 + 200) }

    private func rows(_ outbox: Outbox) throws -> Int64 {
        try outbox.database.integer("SELECT count(*) FROM entries")
    }

    /// Returns an outbox with 30 batches, of which all but 10 and 30 can be removed at once.
    private func filled(keepsJournal: Bool = false) throws -> (Outbox, removable: [Epoch: SequenceSet]) {
        let outbox = try openOutbox(keepsJournal: keepsJournal)
        for number in 1...30 as ClosedRange<Int64> {
            _ = try outbox.commit(appending: [large(number)], at: number)
        }
        return (outbox, [outbox.epoch: [1...9, 11...29]])
    }

    @Test("a killed agent does not send acknowledged batches again, although their rows are deleted later")
    func killed() throws {
        let outbox = try openOutbox()
        for number in 1...20 as ClosedRange<Int64> {
            _ = try outbox.commit(
                appending: [block([number])], removing: [outbox.epoch: [1...max(1, number - 2)]], at: number)
            let again = try Outbox(path: try copyOutbox())
            #expect(again.pending == outbox.pending && again.bytes == outbox.bytes)
            #expect(again.pending[outbox.epoch]?.first == max(number - 1, number == 1 ? 1 : 2))
            #expect(try again.commit(appending: [block([0])], at: 99).entries.map(\.position.seq) == [number + 1])
        }
        #expect(try rows(outbox) == 20)
        #expect(try outbox.database.integer("SELECT count(*) FROM batches") == 2)
        #expect(try outbox.database.integer("SELECT min(seq) FROM batches") == 19)
    }

    @Test("a commit without new batches deletes the rows, as at a stop")
    func stop() throws {
        let (outbox, removable) = try filled()
        _ = try outbox.commit(appending: [], removing: removable, at: 40)
        #expect(try rows(outbox) == 2)
        // Once every batch is published, nothing else saves the highest number.
        for seq in 1...30 as ClosedRange<Int64> { outbox.didPublish(BatchPosition(epoch: outbox.epoch, seq: seq)) }
        _ = try outbox.commit(appending: [block([31])], at: 41)
        outbox.didPublish(BatchPosition(epoch: outbox.epoch, seq: 31))
        _ = try outbox.commit(appending: [], removing: [outbox.epoch: [10...31]], at: 41)
        #expect(try rows(outbox) == 0)
        let again = try Outbox(path: try copyOutbox())
        #expect(again.pending.isEmpty)
        #expect(try again.commit(appending: [block([0])], at: 99).entries.map(\.position.seq) == [32])
    }

    @Test("rows that a killed agent left are deleted with the next commit")
    func leftRows() throws {
        let outbox = try openOutbox()
        for number in 1...3 as ClosedRange<Int64> {
            _ = try outbox.commit(
                appending: [block([number])], removing: [outbox.epoch: [1...number]], at: number)
        }
        #expect(try rows(outbox) == 3)
        let again = try Outbox(path: try copyOutbox())
        _ = try again.commit(appending: [block([4])], at: 4)
        #expect(try rows(again) == 2 && again.pending == [outbox.epoch: [3...4]])
    }

    @Test("a large deletion is divided among several commits")
    func divided() throws {
        let outbox = try openOutbox()
        let count = Outbox.maxDeletions + 100
        _ = try outbox.commit(appending: (1...count).map { block([$0]) }, at: 0)
        let removable = [outbox.epoch: SequenceSet([1...count])]
        _ = try outbox.commit(appending: [block([0])], removing: removable, at: 1)
        #expect(try rows(outbox) == 101 && outbox.pending == [outbox.epoch: [count + 1...count + 1]])
        #expect(try Outbox(path: try copyOutbox()).pending == outbox.pending)
        _ = try outbox.commit(appending: [block([0])], at: 2)
        #expect(try rows(outbox) == 2)
    }

    @Test("a power cut at any write of a deletion loses no batch", arguments: [false, true])
    func powerCut(keepsJournal: Bool) throws {
        let (outbox, removable) = try filled(keepsJournal: keepsJournal)
        func logSize() throws -> Int { try Data(contentsOf: URL(filePath: outbox.path + "-wal")).count }
        let before = try logSize()
        _ = try outbox.commit(appending: [block([31])], removing: removable, at: 40)
        #expect(try rows(outbox) == (keepsJournal ? 31 : 3))
        let after = try logSize()
        // A frame is a page with a header of 24 bytes.
        let frame = 24 + Int(try outbox.database.integer("PRAGMA page_size"))
        #expect((after - before).isMultiple(of: frame) && (after - before) / frame >= 3)
        for size in stride(from: before, through: after, by: frame) {
            let copy = try copyOutbox(logSize: size)
            #expect(try SQLiteDatabase(path: copy).text("PRAGMA integrity_check") == "ok")
            let again = try Outbox(path: copy, keepsJournal: keepsJournal)
            let isComplete = size == after
            #expect(again.pending == [outbox.epoch: isComplete ? [10...10, 30...31] : [1...30]], "\(size)")
            var accepted = 0
            try Journal.read(path: copy) { _ in accepted += 1 }
            #expect(accepted == (keepsJournal ? (isComplete ? 31 : 30) : 0))
            let next = try again.commit(appending: [block([0])], at: 99).entries
            #expect(next.map(\.position.seq) == [isComplete ? 32 : 31])
        }
    }

    @Test(
        "if a deletion fails at any statement, nothing changes, and the next one succeeds",
        arguments: [
            "DELETE ON entries WHEN old.id = 1", "DELETE ON entries WHEN old.id = 15",
            "DELETE ON entries WHEN old.id = 29",
            "INSERT ON meta WHEN new.key = 'last'", "INSERT ON meta WHEN new.key = 'saved'", "INSERT ON journaled",
        ])
    func failure(event: String) throws {
        let keepsJournal = event.hasSuffix("journaled")
        let (outbox, removable) = try filled(keepsJournal: keepsJournal)
        let bytes = outbox.bytes
        let other = try SQLiteDatabase(path: outbox.path)
        try other.execute("CREATE TRIGGER trap BEFORE \(event) BEGIN SELECT RAISE(ABORT, 'trap'); END")
        #expect(throws: OutboxError.self) {
            try outbox.commit(appending: [block([31])], removing: removable, at: 40)
        }
        #expect(outbox.pending == [outbox.epoch: [1...30]] && outbox.bytes == bytes)
        #expect(try Outbox(path: try copyOutbox()).pending == outbox.pending)
        try other.execute("DROP TRIGGER trap")
        _ = try outbox.commit(appending: [block([31])], removing: removable, at: 40)
        #expect(outbox.pending == [outbox.epoch: [10...10, 30...31]])
        #expect(try rows(outbox) == (keepsJournal ? 31 : 3))
    }

    @Test("the journal keeps the rows of removed batches, which stay removed after a restart")
    func journal() throws {
        let (outbox, removable) = try filled(keepsJournal: true)
        let expected: [Epoch: SequenceSet] = [outbox.epoch: [10...10, 30...30]]
        _ = try outbox.commit(appending: [], removing: removable, at: 40)
        // Without --journal, new batches are deleted, and those of the journal stay.
        let again = try Outbox(path: try copyOutbox())
        #expect(again.pending == expected)
        _ = try again.commit(appending: [block([31])], at: 41)
        _ = try again.commit(appending: [], removing: [outbox.epoch: [1...31]], at: 42)
        #expect(try rows(again) == 30 && again.pending.isEmpty)
        #expect(try again.database.integer("SELECT count(*) FROM journaled") == 1)
        var seqs: [Int64] = []
        try Journal.read(path: again.path) { seqs.append($0.position?.seq ?? 0) }
        #expect(seqs == Array(1...30))
    }

    @Test("unpublished batches are remembered after a kill", arguments: [1, 2])
    func unpublished(step: Int64) throws {
        let outbox = try openOutbox()
        // With step 2, the set is too large for a row.
        for number in 1...100 as ClosedRange<Int64> {
            _ = try outbox.commit(appending: [block([number])], at: number)
            if step == 2, number.isMultiple(of: 2) {
                outbox.didPublish(BatchPosition(epoch: outbox.epoch, seq: number))
            }
        }
        // The last batch may have been published after its commit.
        let expected = stride(from: 1, through: 99, by: Int(step)).map { Int64($0)...Int64($0) }
        #expect(try Outbox(path: try copyOutbox()).unpublishedSeqs == SequenceSet(expected))
        try outbox.willSendBacklog()
        #expect(try Outbox(path: try copyOutbox()).unpublishedSeqs.isEmpty)
        _ = try outbox.commit(appending: [block([101])], at: 101)
        #expect(try Outbox(path: try copyOutbox()).unpublishedSeqs.isEmpty)
        outbox.didDisconnect()
        _ = try outbox.commit(appending: [block([102])], at: 102)
        #expect(try Outbox(path: try copyOutbox()).unpublishedSeqs.contains(101))
    }
}
