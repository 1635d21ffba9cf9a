import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

extension Intake {
    /// Takes a presence in.
    /// - Throws: why it can't be.
    mutating func takePresence(
        _ message: IncomingMessage, of route: Int, _ book: inout LifecycleBook, at moment: Moment
    ) throws {
        guard !message.payload.isEmpty, let device = topics[route].address else { return }
        guard message.payload.count <= limits.bytes else {
            throw PayloadError("\(message.payload.count) bytes: a payload has at most \(limits.bytes)")
        }
        let presence = try PresenceJSON.decode(message.payload)
        guard admits(route) else { throw tooManyDevices(position: nil) }
        if let number = topics[route].device { tellNewest(of: number, &book, at: moment) }
        if let epoch = presence.epoch, !presence.dropped.isEmpty {
            group.dropped.append(
                DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet(presence.dropped)))
        }
        if presence.phase != .lost {
            group.seen[device] = moment.wall
            droppedSamples[device] = presence.droppedSamples > 0 ? presence.droppedSamples : nil
        }
        book.handle(.presence(presence), of: device, at: moment, into: &group)
    }
}
