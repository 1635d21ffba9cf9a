import FoundationEssentials
import Glibc
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("The outbox on a full disk", .temporaryFolder)
struct FullDiskTests {
    private var reservedSpacePath: String { TemporaryFolder.path + "/outbox-ballast" }

    /// Returns blocks of some kilobytes.
    private func blocks(_ numbers: Range<Int64>) -> [SampleBlock] { numbers.map { block($0 * 1000..<$0 * 1000 + 200) } }

    /// Returns an outbox that holds batches 1 to 60 and whose file cannot grow.
    private func full(keepsJournal: Bool = false) throws -> Outbox {
        let outbox = try openOutbox(keepsJournal: keepsJournal)
        for number in 1...60 as ClosedRange<Int64> {
            _ = try outbox.accept(blocks(number..<number + 1), at: number)
        }
        outbox.checkpoint()
        outbox.hasDiskSpace = { false }
        let pages = try outbox.database.integer("PRAGMA page_count")
        try outbox.database.execute("PRAGMA max_page_count = \(pages)")
        return outbox
    }

    @Test("the oldest batches are dropped and counted, and all new ones are written")
    func dropsOldest() throws {
        let outbox = try full()
        var written: [Int64] = []
        var dropped = Outbox.Dropped()
        for number in 61...90 as ClosedRange<Int64> {
            let accepted = try outbox.accept(blocks(number..<number + 1), at: number)
            #expect(accepted.unwritten.isEmpty && accepted.error == nil)
            written += accepted.entries.map(\.position.seq)
            dropped.formUnion(accepted.dropped)
        }
        #expect(written == Array(61...90))
        let pending = try #require(outbox.pending[outbox.epoch])
        #expect(pending.ranges.count == 1 && pending.last == 90)
        let lost = outbox.droppedBatches
        #expect(lost == [1...(pending.first ?? 0) - 1])
        #expect(dropped.batches == [0: [outbox.epoch: lost]] && dropped.agedSamples == 0)
        #expect(outbox.droppedSamples == 200 * lost.count && dropped.samples == outbox.droppedSamples)
    }

    @Test("an outbox whose agent was killed on a full disk is not mistaken for an older one")
    func killed() throws {
        let outbox = try full()
        for seq in 1...60 as ClosedRange<Int64> { outbox.didPublish(BatchPosition(epoch: outbox.epoch, seq: seq)) }
        let accepted = try outbox.accept(blocks(61..<71), at: 61)
        #expect(accepted.wasDiskFull && accepted.entries.count == 10)
        for entry in accepted.entries { outbox.didPublish(entry.position) }
        let again = try Outbox(path: try copyOutbox())
        #expect(again.pending == outbox.pending)
        #expect(!again.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: 70)))
    }

    @Test("acknowledged batches are removed before any batch is dropped")
    func removesFirst() throws {
        let outbox = try full()
        let accepted = try outbox.accept(blocks(61..<71), removing: [outbox.epoch: [1...30]], at: 61)
        #expect(accepted.entries.map(\.position.seq) == Array(61...70) && accepted.unwritten.isEmpty)
        #expect(accepted.dropped == Outbox.Dropped())
        #expect(outbox.pending == [outbox.epoch: [31...70]])
    }

    @Test("the oldest part of the journal is deleted before any batch is dropped")
    func journal() throws {
        let outbox = try full(keepsJournal: true)
        let accepted = try outbox.accept(blocks(61..<71), removing: [outbox.epoch: [1...30]], at: 61)
        #expect(accepted.entries.map(\.position.seq) == Array(61...70) && accepted.unwritten.isEmpty)
        #expect(accepted.dropped == Outbox.Dropped() && outbox.pending == [outbox.epoch: [31...70]])
        var kept: [Int64] = []
        try Journal.read(path: outbox.path) { kept.append($0.position?.seq ?? 0) }
        #expect(kept.suffix(40) == ArraySlice(31...70) && kept.count < 70)
        // Then batches are dropped, and their rows do not stay in the journal.
        let more = try outbox.accept(blocks(71..<121), at: 71)
        #expect(more.unwritten.isEmpty && more.dropped.samples > 0)
        #expect(try Outbox(path: try copyOutbox(), keepsJournal: true).pending == outbox.pending)
    }

    @Test("blocks that do not fit are returned, and numbers have no gaps")
    func tooMuch() throws {
        let outbox = try full()
        let huge = block(100_000..<160_000)
        let accepted = try outbox.accept([blocks(61..<62)[0], huge, blocks(62..<63)[0]], at: 61)
        #expect(accepted.unwritten.map(\.samples) == [huge, blocks(62..<63)[0]])
        #expect(accepted.error?.isFull == true && accepted.wasDiskFull)
        let next = try outbox.accept(blocks(62..<63), at: 62)
        #expect(next.entries.map(\.position.seq) == [62] && next.error == nil)
    }

    @Test("the outbox grows again when the disk has space again")
    func spaceAgain() throws {
        let outbox = try full()
        outbox.hasDiskSpace = { true }
        let accepted = try outbox.accept(blocks(61..<161), at: 61)
        #expect(accepted.entries.count == 100 && accepted.dropped == Outbox.Dropped())
    }

    @Test("the reserved space is restored after it was used")
    func reservedSpace() throws {
        do {
            let outbox = try full()
            #expect(outbox.reservedSpace.size > 0)
            #expect(FileManager.default.fileExists(atPath: reservedSpacePath))
            _ = try outbox.accept(blocks(61..<71), at: 61)
            #expect(FileManager.default.fileExists(atPath: reservedSpacePath))
            outbox.reservedSpace.remove()
            _ = try outbox.accept([], at: 62)
            #expect(FileManager.default.fileExists(atPath: reservedSpacePath))
        }
        #expect(try openOutbox().reservedSpace.size > 0)
    }

    @Test("a smaller reservation grows when the disk has space again")
    func partialReservation() throws {
        let size: Int64
        do {
            let outbox = try openOutbox()
            size = outbox.reservedSpace.size
            // As left by a nearly full disk.
            truncate(reservedSpacePath, 5000)
            _ = try outbox.accept([], at: 0)
            #expect(try fileSize() == size)
        }
        truncate(reservedSpacePath, 100_000)
        #expect(try openOutbox().reservedSpace.size == size)
        #expect(try fileSize() == size)
    }

    private func fileSize() throws -> Int64 {
        Int64(try Data(contentsOf: URL(filePath: reservedSpacePath)).count)
    }
}
