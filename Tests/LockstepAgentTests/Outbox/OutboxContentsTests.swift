import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("The rows of an outbox")
struct OutboxContentsTests {
    private func contents(_ pending: ClosedRange<Int64>) -> OutboxContents {
        OutboxContents(pending: SequenceSet([pending]))
    }

    @Test("the watermark is below the oldest pending batch, or the highest id")
    func watermark() {
        var contents = contents(1...10)
        #expect(contents.watermark(last: 10) == 0)
        contents.acknowledge([2...3], bytes: 1, at: 0)
        #expect(contents.watermark(last: 10) == 0)
        contents.acknowledge([1...1], bytes: 1, at: 0)
        #expect(contents.watermark(last: 10) == 3)
        contents.acknowledge([4...10], bytes: 1, at: 0)
        #expect(contents.watermark(last: 10) == 10)
    }

    @Test("acknowledged rows are deleted at a size or after a delay")
    func deletion() {
        var contents = contents(1...10)
        #expect(!contents.isDeletionDue(at: 0))
        contents.acknowledge([1...1], bytes: OutboxContents.deletionSize - 1, at: 0)
        #expect(!contents.isDeletionDue(at: OutboxContents.deletionDelay - 1))
        #expect(contents.isDeletionDue(at: OutboxContents.deletionDelay))
        contents.acknowledge([2...2], bytes: 1, at: 0)
        #expect(contents.isDeletionDue(at: 0))
        contents.didDelete(keepingJournal: false, last: 10)
        #expect(!contents.isDeletionDue(at: OutboxContents.deletionDelay) && contents.acknowledged.isEmpty)
        #expect(contents.pending == [3...10] && contents.journaled.isEmpty)
    }

    @Test("rows that the last run left are deleted at once")
    func leftRows() {
        #expect(OutboxContents(pending: [], acknowledged: [1...5]).isDeletionDue(at: 0))
    }

    @Test("the journal is one range up to the watermark")
    func journal() {
        var contents = contents(1...10)
        contents.acknowledge([1...2, 6...6], bytes: 1, at: 0)
        contents.didDelete(keepingJournal: true, last: 10)
        #expect(contents.journaled == [1...2, 6...6])
        // Not every dropped batch is part of the journal.
        contents.drop(3, keepsRow: false)
        contents.acknowledge([4...5], bytes: 1, at: 0)
        contents.didDelete(keepingJournal: true, last: 10)
        #expect(contents.journaled == [1...6] && contents.pending == [7...10])
    }
}
