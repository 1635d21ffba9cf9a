import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("The device of an outbox", .temporaryFolder)
struct OutboxOwnerTests {
    private let old = DeviceAddress(group: .standard, device: DeviceID(unchecked: "old"))
    private let new = DeviceAddress(group: .standard, device: DeviceID(unchecked: "new"))
    private var path: String { TemporaryFolder.path + "/outbox" }

    /// Opens the outbox of a device, which writes two batches, and acknowledges the first ones.
    private func run(
        _ device: DeviceAddress?, acknowledging numbers: ClosedRange<Int64>?, journal: Bool = false
    ) throws -> Epoch {
        let outbox = try Outbox(path: path, device: device, keepsJournal: journal)
        _ = try outbox.commit(appending: [block([1]), block([2])], at: 0)
        if let numbers { _ = try outbox.commit(appending: [], removing: [outbox.epoch: [numbers]], at: 1) }
        return outbox.epoch
    }

    private func error(_ device: DeviceAddress) throws -> String {
        do { _ = try Outbox(path: path, device: device) } catch let error as OutboxError { return error.description }
        Issue.record("the outbox was opened")
        return ""
    }

    @Test("batches of another device are not delivered under a new name: the error says what to do")
    func pending() throws {
        let epoch = try run(old, acknowledging: 1...1)
        #expect(
            try error(new)
                == "the outbox '\(path)' belongs to default/old, and 1 batch of it is not delivered. Deliver it first: "
                + "lockstep-agent --group default --device old --source none --outbox '\(path)' (and --broker as usual). "
                + "Or use another --outbox for default/new.")
        // The refusal has changed nothing.
        let outbox = try Outbox(path: path, device: old)
        #expect(outbox.epoch == epoch && outbox.pending == [epoch: [2...2]])
    }

    @Test("a delivered outbox continues for another device in a new epoch, without what was dropped before")
    func delivered() throws {
        var epoch: Epoch
        do {
            let outbox = try Outbox(path: path, device: old, limits: .init(bytes: 1))
            _ = try outbox.commit(appending: [block([1]), block([2])], at: 0)
            epoch = outbox.epoch
            #expect(outbox.droppedSamples == 2 && outbox.previousDevice == nil)
        }
        for _ in 1...2 {
            let outbox = try Outbox(path: path, device: new)
            #expect(outbox.epoch != epoch && outbox.devices[0].previousEpoch == nil)
            #expect(outbox.droppedSamples == 0)
            #expect(outbox.devices[0].dropped.isEmpty)
        }
        do {
            let outbox = try Outbox(path: path, device: new)
            #expect(outbox.previousDevice == nil)
            let entries = try outbox.commit(appending: [block([3])], at: 0).entries
            #expect(entries.map(\.position) == [BatchPosition(epoch: outbox.epoch, seq: 1)])
            _ = try outbox.commit(appending: [], removing: [outbox.epoch: [1...1]], at: 1)
            epoch = outbox.epoch
        }
        // Back again: no number is given twice.
        let outbox = try Outbox(path: path, device: old)
        #expect(outbox.previousDevice == "default/new")
        #expect(outbox.epoch != epoch)
    }

    @Test("the same name in another group is another device")
    func group() throws {
        _ = try run(old, acknowledging: nil)
        let other = DeviceAddress(group: GroupID(unchecked: "lab"), device: old.device)
        #expect(try error(other).contains("belongs to default/old, and 2 batches of it are not delivered"))
    }

    @Test("a journal belongs to one device, because a store is verified with it")
    func journal() throws {
        _ = try run(old, acknowledging: 1...2, journal: true)
        #expect(
            try error(new)
                == "the outbox '\(path)' has the journal of default/old, not of default/new. "
                + "Use another --outbox for default/new.")
    }

    @Test("a delivered outbox without a journal may start one for another device")
    func newJournal() throws {
        _ = try run(old, acknowledging: 1...2)
        #expect(try Outbox(path: path, device: new, keepsJournal: true).previousDevice == "default/old")
    }
}
