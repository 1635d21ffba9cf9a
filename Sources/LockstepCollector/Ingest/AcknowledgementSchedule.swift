import LockstepModel
import LockstepStore

/// Coalesces acknowledgements: soon after the first batch, then about one a second for each device and epoch.
struct AcknowledgementSchedule {
    /// What is on disk of a (device, epoch), and the boot time of the commit that brought the newest of it.
    private struct Received {
        let batches: SequenceSet
        let at: Int64
    }

    /// µs between two acknowledgements of one (device, epoch). Less than an agent's window, or each would come later
    /// after its batch than the one before.
    static let pause: Int64 = 900_000
    /// µs from a batch to its acknowledgement: the batches of one window come together.
    static let delay: Int64 = 100_000
    /// µs between two looks at what waits.
    private static let look: Int64 = 50_000

    private var waiting: [DeviceEpoch: Received] = [:]
    /// When each that waits is due.
    private var queue = DueQueue<DeviceEpoch>()
    private var sentAt: [DeviceEpoch: Int64] = [:]
    /// How many times of acknowledgements are kept before old ones are looked for.
    private var mostSent = 20_000
    private var lookAt: Int64 = 0

    /// What is on disk of (device, epoch) has changed, or was asked for; `boot` in µs of the boot clock.
    mutating func note(_ key: DeviceEpoch, received: SequenceSet, at boot: Int64) {
        guard waiting.updateValue(Received(batches: received, at: boot), forKey: key) == nil else { return }
        queue.add(key, due: max(boot + Self.delay, sentAt[key].map { $0 + Self.pause } ?? .min))
    }

    /// When to look next, in µs of the boot clock.
    var nextDue: Int64? { queue.nextDue.map { max($0, lookAt) } }

    /// Takes out what is due.
    mutating func takeDue(at boot: Int64) -> [(device: DeviceAddress, ack: Acknowledgement)] {
        guard let nextDue, boot >= nextDue else { return [] }
        lookAt = boot + Self.look
        var due: [(DeviceAddress, Acknowledgement)] = []
        while let (_, key) = queue.popDue(at: boot) {
            guard let received = waiting.removeValue(forKey: key) else { continue }
            let ack = Acknowledgement(epoch: key.epoch, received: received.batches, held: boot - received.at)
            due.append((key.device, ack))
            sentAt[key] = boot
        }
        // Epochs come and go; who has long had its last acknowledgement needs no memory of it.
        if sentAt.count > mostSent {
            sentAt = sentAt.filter { boot - $0.value < Self.pause }
            mostSent = max(20_000, 2 * sentAt.count)
        }
        return due
    }
}
