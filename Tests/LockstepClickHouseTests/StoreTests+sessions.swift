import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

// Recorded sessions.
extension StoreTests {
    @Test("sessions are read as they were written, also by the next collector; a deleted one leaves nothing")
    func sessions() async throws {
        try await withClickHouse { server in
            var store = try open(server)
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            #expect(try reader.sessions().isEmpty)
            let sender = received([1], seq: 1).device
            var session = RecordingSession(
                key: .init(group: GroupID(unchecked: "lab"), id: SessionID(unchecked: "walk")), name: "walk '3'",
                created: Timestamp(microseconds: 1))
            session.labels = ["subject": "7"]
            session.devices = [sender.device: .init(joined: Timestamp(microseconds: 2))]
            var group = IngestGroup(batches: [received([1, 2, 3], seq: 1)])
            group.sessions = [session]
            try store.write(group)
            #expect(try reader.sessions() == [session])
            session.state = .incomplete
            (session.start, session.end) = (Timestamp(microseconds: 1), Timestamp(microseconds: 3))
            session.devices[sender.device]?.problem = "sends nothing"
            session.devices[sender.device]?.firstNumbers = [Epoch(unchecked: "e"): 2]
            let marker = RecordingSession.Marker(
                id: "a", time: Timestamp(microseconds: 2), clock: .client, text: "turn", value: 0.5)
            group = IngestGroup()
            group.sessions = [session]
            group.markers = [(session.key, marker)]
            try store.write(group)
            session.add(marker)
            store.close()
            store = try open(server)
            #expect(try store.sessions() == [session] && reader.sessions() == [session])
            #expect(try store.batchNumbers(of: sender).values.map(\.received) == [SequenceSet([1...1])])
            // In two parts, the markers of the second leave the first, also those of the same transaction.
            var second = session
            second.key = .init(group: session.key.group, id: SessionID(unchecked: "walk-2"))
            (session.end, second.start) = (marker.time, marker.time)
            session.markers = []
            // It has been earlier, in the first part: this version does not come back.
            var earlier = marker
            earlier.time = Timestamp(microseconds: 1)
            group = IngestGroup()
            group.markers = [(session.key, earlier)]
            try store.write(group)
            group.markers = [(session.key, marker)]
            try store.write(group)
            let late = RecordingSession.Marker(
                id: "b", time: Timestamp(microseconds: 3), clock: .client, text: "end")
            second.add(late)
            group = IngestGroup()
            group.markers = [(session.key, late)]
            try store.add(group)
            group = IngestGroup()
            group.sessions = [session, second]
            group.splits = [(session.key, [marker.id, late.id])]
            group.markers = [(second.key, marker), (second.key, late)]
            try store.write(group)
            #expect(try reader.sessions() == [session, second])
            group = IngestGroup()
            second.state = .deleted
            group.sessions = [second]
            try store.write(group)
            group = IngestGroup()
            session.state = .deleted
            group.sessions = [session]
            try store.write(group)
            #expect(try reader.sessions().isEmpty)
            try await expectEventually("the end of the deletion") {
                try await server.execute("SELECT count() FROM received_markers") == ["0"]
            }
            store.close()
        }
    }
}
