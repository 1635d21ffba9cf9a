import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep hold")
struct HoldCommandTests {
    @Test("holds the devices of a session from its start to its end")
    func session() async throws {
        try await withStore { store in
            var session = RecordingSession(
                key: .init(group: .standard, id: SessionID(unchecked: "walk-3")), name: "walk 3",
                created: Timestamp(microseconds: 1_700_000_000_000_000))
            session.start = Timestamp(microseconds: 1_700_000_001_000_000)
            session.state = .recording
            // One of them has sent nothing.
            for device in ["left", "absent"] {
                session.devices[DeviceID(unchecked: device)] = .init(joined: session.created)
            }
            var group = IngestGroup()
            group.sessions = [session]
            try write(group, to: store)
            let early = try await lockstep(["hold", "--session", "walk 3"], store)
            #expect(early.status == 1 && early.text.contains("has not ended yet"), "\(early.text)")

            session.end = Timestamp(microseconds: 1_700_000_061_000_000)
            session.state = .complete
            group.sessions = [session]
            try write(group, to: store)
            let held = try await lockstep(["hold", "--session", "walk 3"], store)
            #expect(held.status == 0, "\(held.text)")
            let holds = try StoreReader(path: store).holds()
            #expect(holds.map(\.device.device.rawValue) == ["left"] && holds.first?.reason == "session walk 3")
            #expect(holds.first?.from == session.start?.microseconds && holds.first?.to == session.end?.microseconds)
        }
    }
}
