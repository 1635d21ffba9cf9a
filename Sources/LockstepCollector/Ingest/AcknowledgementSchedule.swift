import LockstepModel
import LockstepStore

/// Coalesces acknowledgements: soon after the first batch, then about one a second for each device and epoch.
struct AcknowledgementSchedule {
    /// µs between two acknowledgements of one (device, epoch).
    static let pause: Int64 = 1_000_000
    /// µs from a batch to its acknowledgement: the batches of one window come together.
    static let delay: Int64 = 100_000
    /// µs between two looks at what waits.
    private static let look: Int64 = 50_000

    private struct Waiting {
        var received: SequenceSet
        let since: Int64
    }

    private var waiting: [DeviceEpoch: Waiting] = [:]
    private var sentAt: [DeviceEpoch: Int64] = [:]
    private var lookAt: Int64 = 0

    /// What is on disk of (device, epoch) has changed, or was asked for; `boot` in µs of the boot clock.
    mutating func note(_ key: DeviceEpoch, received: SequenceSet, at boot: Int64) {
        lookAt = waiting.isEmpty ? boot + Self.delay : min(lookAt, boot + Self.delay)
        waiting[key] = Waiting(received: received, since: waiting[key]?.since ?? boot)
    }

    /// When to look next, in µs of the boot clock.
    var nextDue: Int64? { waiting.isEmpty ? nil : lookAt }

    /// Takes out what is due.
    mutating func takeDue(at boot: Int64) -> [(device: DeviceAddress, ack: Acknowledgement)] {
        guard !waiting.isEmpty, boot >= lookAt else { return [] }
        lookAt = boot + Self.look
        var due: [(DeviceAddress, Acknowledgement)] = []
        for (key, wait) in waiting
        where boot >= wait.since + Self.delay && boot - (sentAt[key] ?? .min / 2) >= Self.pause {
            due.append((key.device, Acknowledgement(epoch: key.epoch, received: wait.received)))
            sentAt[key] = boot
        }
        for (device, ack) in due { waiting[DeviceEpoch(device: device, epoch: ack.epoch)] = nil }
        // Epochs come and go; who has long had its last acknowledgement needs no memory of it.
        if sentAt.count > 20_000 { sentAt = sentAt.filter { boot - $0.value < Self.pause } }
        return due
    }
}
