import LockstepAgent
import LockstepModel

/// An outbox over simulated time, in windows of a second, without an agent: batches are published in their window and
/// acknowledged two windows later.
struct OutboxRun {
    private let outbox: Outbox
    private let windows: RecordedWindows
    private var second = 0
    /// The batches published in the last two windows.
    private var published: [SequenceSet] = [SequenceSet(), SequenceSet()]
    private var acknowledged = SequenceSet()
    private var backlog = SequenceSet()
    /// The size of all batches in bytes.
    private(set) var batchBytes: Int64 = 0

    init(outbox: Outbox, windows: RecordedWindows) {
        self.outbox = outbox
        self.windows = windows
    }

    /// Accepts the batches of a second. With a connection, they are also published.
    mutating func window(isConnected: Bool) throws {
        let accepted = try outbox.accept(
            windows.blocks(of: second).map { Outbox.Addition(samples: $0) },
            removing: [0: [outbox.epoch: acknowledged]], at: windows.time(of: second).microseconds)
        second += 1
        acknowledged = published.removeFirst()
        var live = SequenceSet()
        for entry in accepted.entries {
            batchBytes += Int64(entry.payload(isBacklog: false).count)
            if isConnected {
                outbox.didPublish(entry.position)
                live.insert(entry.position.seq)
            } else {
                backlog.insert(entry.position.seq)
            }
        }
        published.append(live)
    }

    /// Publishes the backlog, while the windows continue.
    mutating func catchUp(batchesPerWindow: Int) throws {
        while let first = backlog.first {
            try outbox.willSendBacklog()
            let batches = SequenceSet([first...first + Int64(batchesPerWindow) - 1]).intersection(backlog)
            for seq in batches.ranges.joined() {
                let position = BatchPosition(epoch: outbox.epoch, seq: seq)
                guard try outbox.entry(at: position) != nil else { throw Failure("batch \(seq) is missing") }
                outbox.didPublish(position)
            }
            backlog.subtract(batches)
            try window(isConnected: true)
            published[1].formUnion(batches)
        }
    }

    /// Handles the last acknowledgements and removes their batches, as at a clean stop.
    mutating func stop() throws {
        for batches in published { acknowledged.formUnion(batches) }
        _ = try outbox.commit(
            [], removing: [0: [outbox.epoch: acknowledged]], at: windows.time(of: second).microseconds)
        guard outbox.bytes == 0 else { throw Failure("\(outbox.bytes) bytes were not delivered") }
    }
}
