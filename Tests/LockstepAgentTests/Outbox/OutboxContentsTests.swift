import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("The rows of an outbox")
struct OutboxContentsTests {
    private let epoch = Epoch(unchecked: "e")

    @Test("acknowledged rows are deleted at a size or after a delay")
    func deletion() {
        var rows = AcknowledgedRows()
        #expect(!rows.isDeletionDue(at: 0))
        rows.insert([1...1], bytes: AcknowledgedRows.deletionSize - 1, at: 0)
        #expect(!rows.isDeletionDue(at: AcknowledgedRows.deletionDelay - 1))
        #expect(rows.isDeletionDue(at: AcknowledgedRows.deletionDelay))
        rows.insert([2...2], bytes: 1, at: 0)
        #expect(rows.isDeletionDue(at: 0))
        rows.didDelete(keepingJournalTo: nil)
        #expect(!rows.isDeletionDue(at: AcknowledgedRows.deletionDelay) && rows.rows.isEmpty && rows.journaled.isEmpty)
        #expect(AcknowledgedRows(left: [1...5], journaled: []).isDeletionDue(at: 0), "left by the last run")
    }

    @Test("the journal is one range up to the watermark")
    func journal() {
        var rows = AcknowledgedRows()
        rows.insert([1...2, 6...6], bytes: 1, at: 0)
        rows.didDelete(keepingJournalTo: 2)
        #expect(rows.journaled == [1...2, 6...6])
        // Not every dropped batch is part of the journal.
        rows.insert([4...5], bytes: 1, at: 0)
        rows.didDelete(keepingJournalTo: 6)
        #expect(rows.journaled == [1...6])
    }

    @Test("a batch that stays pending keeps no memory of those that go")
    func compaction() {
        var rows = OutboxDevice.EpochRows(id: 1, epoch: epoch)
        for seq in 1...5000 as ClosedRange<Int64> {
            rows.append(seq * 2)
            if seq > 1 { #expect(rows.remove([seq...seq]) == [seq * 2...seq * 2]) }
        }
        #expect(rows.runCount <= 128 && rows.row(of: 1) == 2)
        rows.append(10_001)
        #expect(rows.row(of: 5001) == 10_001 && rows.row(of: 1) == 2)
    }

    @Test("the batches of interleaved devices are found by their numbers, and the lowest row is known")
    func rows() {
        var devices = OutboxDevices()
        for (id, name) in [(1, "a"), (2, "b")] as [(Int64, String)] {
            let index = devices.add(
                OutboxDevice(address: DeviceAddress(group: .standard, device: DeviceID(unchecked: name))))
            devices.add(OutboxDevice.EpochRows(id: id, epoch: epoch), to: index, isCurrent: true)
        }
        #expect(devices.lowestRow() == nil)
        // Rows 1 to 6 are those of device 0, 0, 1, 0, 1, 1.
        for (row, device) in [0, 0, 1, 0, 1, 1].enumerated() {
            _ = devices.append(row: Int64(row) + 1, to: device)
        }
        #expect(devices[0].lastSeq == 3 && devices[1].lastSeq == 3)
        #expect(devices[0].rows(of: [epoch: [1...9]]) == [1...2, 4...4])
        #expect(devices[1].rows(of: [epoch: [2...3]]) == [5...6])
        #expect(devices[1].row(of: BatchPosition(epoch: epoch, seq: 1)) == 3)
        #expect(devices[1].row(of: BatchPosition(epoch: epoch, seq: 4)) == nil)
        #expect(devices.lowestRow() == 1)
        #expect(devices.remove([epoch: [1...2]], of: 0) == [1...2] && devices.lowestRow() == 3)
        #expect(devices.remove([epoch: [1...3]], of: 1) == [3...3, 5...6] && devices.lowestRow() == 4)
        devices.drop(BatchPosition(epoch: epoch, seq: 3), of: 0, samples: 7)
        #expect(devices.lowestRow() == nil && devices[0].dropped == [epoch: [3...3]] && devices[0].droppedSamples == 7)
        #expect(devices.append(row: 7, to: 1).position.seq == 4 && devices.lowestRow() == 7)
        #expect(devices[1].rows(of: [epoch: [1...4]]) == [7...7])
    }
}
