import LockstepModel
import LockstepWire
import Synchronization
import Testing

@testable import LockstepLive

@Suite("Updates of a session", .timeLimit(.minutes(1)))
struct SessionUpdateTests {
    private let picture = LivePicture(root: .standard)
    private let key = RecordingSession.Key(group: .standard, id: SessionID(unchecked: "walk"))

    /// Handles a state of the session, or its deletion.
    private func receive(_ state: RecordingSession.State?, at seconds: Double) {
        var session = RecordingSession(key: key, name: "walk", created: moment(0).wall)
        session.state = state ?? .deleted
        let payload = state == nil ? [] : SessionJSON.encode(session)
        payload.withUnsafeBytes {
            _ = picture.handle(
                topic: "lockstep/default/$session/walk", payload: $0, contentType: nil, at: moment(seconds))
        }
        _ = picture.advance(to: moment(seconds))
    }

    @Test("are the present state and each new one, until the session is deleted")
    func states() async {
        receive(.preparing, at: 1)
        var updates = picture.updates(of: key).makeAsyncIterator()
        #expect(await updates.next()?.state == .preparing)
        receive(.recording, at: 2)
        #expect(await updates.next()?.state == .recording)
        receive(nil, at: 3)
        #expect(await updates.next() == nil)
    }

    @Test(
        "end if the session was deleted while there was no connection, and go on if it was not",
        arguments: [false, true])
    func reconnect(isDeleted: Bool) async {
        receive(.recording, at: 1)
        var updates = picture.updates(of: key).makeAsyncIterator()
        #expect(await updates.next()?.state == .recording)
        picture.didConnect(at: moment(2).boot)
        if !isDeleted { receive(.complete, at: 3) }
        _ = picture.advance(to: moment(11.9))
        #expect(picture.state.withLock { $0.followers.count } == 1)
        _ = picture.advance(to: moment(13))
        #expect(picture.state.withLock { $0.followers.count } == (isDeleted ? 0 : 1))
        #expect(await updates.next()?.state == (isDeleted ? nil : .complete))
    }

    @Test("end with the picture, also those that begin afterwards")
    func close() async {
        var updates = picture.updates(of: key).makeAsyncIterator()
        picture.close("the server is stopping")
        #expect(await updates.next() == nil)
        var late = picture.updates(of: key).makeAsyncIterator()
        #expect(await late.next() == nil)
    }
}
