import LockstepModel
import LockstepSensors
import Testing

@testable import LockstepAgent

@Suite("The presence")
struct PresenceStateTests {
    private var presence = PresenceState(heartbeat: 30_000_000)

    @Test("the presence is acknowledged when all its messages are; a new connection discards earlier messages")
    mutating func acknowledgement() {
        presence.didPublish(id: 1, at: 0)
        presence.didPublish(id: 2, at: 0)
        presence.didAcknowledge(id: 1)
        let half = presence.isAcknowledged
        presence.didAcknowledge(id: 2)
        let all = presence.isAcknowledged
        presence.didPublish(id: 3, at: 0)
        _ = presence.didConnect(at: Timestamp(microseconds: 0))
        #expect(!half && all && presence.isAcknowledged)
    }

    @Test("details of a status are published, but only a new kind of status counts as a change")
    mutating func status() {
        let results = [
            presence.setStatus(.unavailable("no device"), of: "a"), presence.setStatus(.unavailable("busy"), of: "a"),
            presence.setStatus(.running, of: "a"), presence.setStatus(.running, of: "b"),
        ]
        #expect(results == [true, false, true, true] && presence.isChanged)
        presence.didPublish(id: 1, at: 0)
        let again = presence.setStatus(.running, of: "a")
        #expect(!again && !presence.isChanged)
    }
}
