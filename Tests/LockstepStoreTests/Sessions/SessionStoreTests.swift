import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Sessions in a store", .temporaryFolder)
struct SessionStoreTests {
    @Test("sessions, devices and markers are read as they were written, and a deleted one leaves nothing")
    func roundTrip() throws {
        let (store, path) = try newStore()
        let reader = try StoreReader(path: path)
        #expect(try reader.sessions().isEmpty && store.sessions().isEmpty)
        let (first, second) = (exampleSession("walk-1"), exampleSession("walk-2"))
        try store.write(sessionGroup([first, second]))
        #expect(try reader.sessions() == [first, second] && store.sessions() == [first, second])
        var changed = first
        changed.state = .complete
        changed.labels["subject"] = "8"
        var group = IngestGroup()
        group.sessions = [changed]
        let marker = RecordingSession.Marker(id: "a", time: time(9), clock: .arrival, text: "moved")
        group.markers = [(first.key, marker)]
        try store.write(group)
        changed.add(marker)
        #expect(try reader.sessions() == [changed, second])
        changed.state = .deleted
        group = IngestGroup()
        group.sessions = [changed]
        try store.write(group)
        #expect(try reader.sessions() == [second])
        #expect(try store.database.rows("SELECT count(*) FROM markers WHERE session_id = 'walk-1'") == ["0"])
    }

    @Test("the markers of the second part of a session that is split leave the first")
    func split() throws {
        let (store, path) = try newStore()
        var first = exampleSession("walk")
        first.add(.init(id: "c", time: Timestamp(microseconds: 8), clock: .client, text: "back"))
        try store.write(sessionGroup([first]))
        var second = exampleSession("walk-2")
        (second.start, first.end) = (Timestamp(microseconds: 7), Timestamp(microseconds: 7))
        second.markers = first.markers.filter { $0.id == "c" }
        first.markers.removeAll { $0.id == "c" }
        var group = sessionGroup([second])
        group.sessions.append(first)
        group.splits = [(first.key, ["c"])]
        try store.write(group)
        #expect(try StoreReader(path: path).sessions() == [first, second])
    }

    @Test("a transaction that is rolled back leaves no session, and no table of the first one")
    func rollback() throws {
        let (store, path) = try newStore()
        try store.add(sessionGroup([exampleSession("walk")]))
        store.rollBack()
        #expect(try StoreReader(path: path).sessions().isEmpty)
        try store.write(sessionGroup([exampleSession("walk")]))
        #expect(try StoreReader(path: path).sessions().count == 1)
    }

    @Test("batch numbers of a device include those that wait")
    func numbers() throws {
        let (store, _) = try newStore()
        #expect(try store.batchNumbers(of: device("one")).isEmpty)
        try store.write(received(acceleration(0..<5), seq: 1), received(acceleration(5..<9), seq: 3))
        let numbers = try store.batchNumbers(of: device("one"))
        #expect(numbers.values.map(\.received) == [SequenceSet([1...1, 3...3])])
    }
}

func sessionGroup(_ sessions: [RecordingSession]) -> IngestGroup {
    var group = IngestGroup()
    group.sessions = sessions
    group.markers = sessions.flatMap { session in session.markers.map { (session.key, $0) } }
    return group
}

func exampleSession(_ id: String) -> RecordingSession {
    var session = RecordingSession(
        key: .init(group: GroupID(unchecked: "lab"), id: SessionID(unchecked: id)), name: "walk '3'",
        created: Timestamp(microseconds: 1))
    session.state = .recording
    (session.start, session.end) = (Timestamp(microseconds: 5), Timestamp(microseconds: 10))
    session.rates = ["motion/accelerometer": 200]
    session.labels = ["subject": "7", "quoted \"": "a\tb"]
    session.note = "note"
    session.clockBound = 1000
    session.length = 5
    session.includesGroup = true
    var device = RecordingSession.Device(joined: Timestamp(microseconds: 2))
    device.hasSamples = true
    device.problem = "sends nothing"
    device.firstNumbers = [Epoch(unchecked: "e1"): 4]
    device.lastNumbers = [Epoch(unchecked: "e1"): 9, Epoch(unchecked: "e2"): 3]
    (device.onItsWay, device.missing, device.clockBound) = (1, 2, 300)
    device.calibration = #"{"positions":9}"#
    session.devices = [
        DeviceID(unchecked: "left"): device, DeviceID(unchecked: "right"): .init(joined: session.created),
    ]
    session.add(
        .init(
            id: "a", time: Timestamp(microseconds: 6), clock: .client, text: "turn",
            device: DeviceID(unchecked: "left"),
            value: 1.5, duration: 2))
    session.add(.init(id: "b", time: Timestamp(microseconds: 6), clock: .arrival, text: "jump"))
    return session
}
