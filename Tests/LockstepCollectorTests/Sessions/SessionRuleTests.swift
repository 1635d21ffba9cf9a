import LockstepModel
import LockstepRules
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Sessions that rules start, mark and stop")
struct SessionRuleTests {
    private let pi = DeviceAddress(group: sessionKey.group, device: DeviceID(unchecked: "pi"))
    private let other = DeviceID(unchecked: "other")
    private var registry = SessionRegistry(at: moment(0))

    private mutating func perform(
        _ action: RecordAction, _ id: Int64 = 1, happened: Double, at seconds: Double
    ) throws {
        let event = RuleEvent(
            key: .init(rule: "fall", device: pi, time: time(happened)), at: time(seconds), value: 2.5,
            text: "pi fell", isLate: false)
        let known = [pi.device, other]
        try registry.perform(
            action, for: StoredEvent(id: id, event: event), of: pi, known: { known }, at: moment(seconds))
    }

    private mutating func commit() -> IngestGroup {
        var group = IngestGroup()
        registry.complete(&group, at: moment(0))
        registry.commit()
        return group
    }

    private func session(_ id: String) -> RecordingSession? {
        registry[.init(group: pi.group, id: SessionID(unchecked: id))]
    }

    private static func fall(length: Int64? = 30_000_000, includesGroup: Bool = false) -> RecordAction {
        var start = RecordAction.Start(session: "{rule} of {device}")
        (start.before, start.length, start.includesGroup) = (15_000_000, length, includesGroup)
        (start.rates, start.labels) = (["motion/accelerometer": 100], ["kind": "fall"])
        return .start(start)
    }

    @Test("a session starts in the past, asks its device for the rates at once, and ends by itself after its length")
    mutating func start() throws {
        try perform(Self.fall(), happened: 100, at: 103)
        let started = try #require(session("fall-of-pi"))
        #expect(started.name == "fall of pi" && started.state == .recording && started.labels == ["kind": "fall"])
        #expect(started.start == time(85) && started.created == time(103) && Array(started.devices.keys) == [pi.device])
        #expect(commit().sessions.count == 1)
        registry.tick(at: moment(103), isInTransaction: false) { _ in [:] }
        _ = commit()
        #expect(registry.takeMessages().commands.map(\.device) == [pi])
        registry.tick(at: moment(116), isInTransaction: false) { _ in [:] }
        #expect(session("fall-of-pi")?.end == time(115) && session("fall-of-pi")?.state == .stopping)
    }

    @Test("a session of an event that happened in 1970, on a device without a clock, starts in 1970 at the earliest")
    mutating func withoutClock() throws {
        let ten = 10 - Double(time(0).microseconds) / 1e6
        try perform(Self.fall(), happened: ten, at: 103)
        #expect(session("fall-of-pi")?.start == Timestamp(microseconds: 0))
    }

    @Test(
        "while a session of the name is running, none is started; afterwards, one with another id, of the whole group")
    mutating func repetition() throws {
        try perform(Self.fall(), happened: 100, at: 103)
        try perform(Self.fall(), 2, happened: 104, at: 106)
        #expect(registry.sessions(of: pi.group).count == 1)
        try perform(.stop(session: "fall of pi"), 3, happened: 110, at: 112)
        #expect(session("fall-of-pi")?.end == time(110), "it ends when the event has happened")
        try perform(Self.fall(), happened: 100, at: 113)
        #expect(registry.sessions(of: pi.group).count == 1, "the event that has started it is notified again")
        try perform(Self.fall(includesGroup: true), 4, happened: 120, at: 121)
        let second = try #require(session("fall-of-pi-2"))
        #expect(second.includesGroup && second.devices.keys.sorted() == [other, pi.device])
    }

    @Test("an event marks the sessions with its device in whose time it is, once, also those that have ended")
    mutating func mark() throws {
        try perform(Self.fall(length: nil), happened: 100, at: 100)
        try perform(.stop(session: "fall of pi"), 2, happened: 110, at: 111)
        try perform(Self.fall(length: nil), 3, happened: 140, at: 140)
        for _ in 1...2 { try perform(.mark(session: nil), 4, happened: 105, at: 150) }
        let marker = try #require(session("fall-of-pi")?.markers.first)
        #expect(session("fall-of-pi")?.markers.count == 1 && session("fall-of-pi-2")?.markers == [])
        #expect(marker.id == "event-4" && marker.time == time(105) && marker.text == "pi fell")
        #expect(marker.value == 2.5 && marker.device == pi.device)
        try perform(.mark(session: "another"), 5, happened: 145, at: 150)
        #expect(session("fall-of-pi-2")?.markers == [])
        try perform(.mark(session: "fall of {device}"), 6, happened: 145, at: 150)
        #expect(session("fall-of-pi-2")?.markers.map(\.id) == ["event-6"])
        #expect(session("fall-of-pi")?.markers.map(\.id) == ["event-4"], "it had ended")
    }

    @Test("an event from before the start of a session, of a backlog, does not stop it")
    mutating func lateStop() throws {
        try perform(Self.fall(length: nil), happened: 100, at: 100)
        try perform(.stop(session: "fall of pi"), 2, happened: 80, at: 101)
        #expect(session("fall-of-pi")?.end == nil)
        // A clock that is ahead does not move the end into the future.
        try perform(.stop(session: "fall of pi"), 3, happened: 500, at: 102)
        #expect(session("fall-of-pi")?.end == time(102))
    }

    @Test("a session that is over when it is asked for is complete when its devices have answered")
    mutating func past() throws {
        try perform(Self.fall(), happened: 50, at: 103)
        _ = commit()
        registry.tick(at: moment(103), isInTransaction: false) { _ in [:] }
        #expect(session("fall-of-pi")?.end == time(65))
        registry.tick(at: moment(104), isInTransaction: false) { _ in [:] }
        _ = commit()
        let request = try #require(registry.takeMessages().commands.last?.request)
        registry.receive(
            AgentReply(id: request.id, outcome: .flushed(batches: 0), newest: [epoch: 2]), of: pi, at: moment(105))
        var numbers = BatchNumbers()
        numbers.received = SequenceSet([1...2])
        registry.tick(at: moment(106), isInTransaction: false) { _ in [epoch: numbers] }
        #expect(session("fall-of-pi")?.state == .complete, "its samples were stored before it was known")
    }
}
