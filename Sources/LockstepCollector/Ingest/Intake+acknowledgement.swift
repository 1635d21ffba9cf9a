import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

extension Intake {
    /// Adds a person's acknowledgement of an event to the group.
    /// - Throws: the reason for a rejection.
    mutating func ingestAcknowledgement(_ message: IncomingMessage, route: Int, at moment: Moment) throws {
        guard !message.payload.isEmpty else { return }
        try checkSize(of: message)
        let key = try EventAcknowledgementJSON.decodeRequest(Data(message.payload), of: topics[route].address)
        group.acknowledgements.append(EventAcknowledgement(key: key, at: moment.wall))
    }
}
