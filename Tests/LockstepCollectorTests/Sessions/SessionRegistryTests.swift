import Foundation
import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepWire
import SensorTestSupport
import Testing

@testable import LockstepCollector

@Suite("Sessions of a collector")
struct SessionRegistryTests {
    private let pi = DeviceID(unchecked: "pi")
    private let otherKey = RecordingSession.Key(group: sessionKey.group, id: SessionID(unchecked: "all"))
    private var registry = SessionRegistry(at: moment(0))

    private mutating func send(_ verb: SessionRequest.Verb, _ text: String = "", _ seconds: Double = 0) throws {
        let request = try SessionJSON.decode(
            verb, Data(text.utf8), of: sessionKey, at: moment(seconds).wall)
        try registry.handle(request, of: sessionKey, known: { [pi] }, at: moment(seconds))
    }

    private mutating func take(_ runs: [SampleRun] = [], _ seconds: Double = 0) -> IngestGroup {
        var group = IngestGroup()
        group.runs = runs
        registry.complete(&group, at: moment(seconds))
        return group
    }

    private mutating func tick(_ seconds: Double, _ numbers: [Epoch: BatchNumbers] = [:]) {
        registry.tick(at: moment(seconds), isInTransaction: false) { _ in numbers }
    }

    private mutating func takeMessages() -> (commands: Int, states: [RecordingSession?]) {
        let taken = registry.takeMessages()
        return (taken.commands.count, taken.states.map(\.session))
    }

    @Test("a session is published, and its devices asked, only after the commit")
    mutating func order() throws {
        try send(.start, #"{"name":"walk","rates":{"motion/accelerometer":100}}"#)
        tick(0)
        var messages = takeMessages()
        #expect(registry.hasChanges && messages.commands == 0 && messages.states.isEmpty)
        let group = take()
        #expect(group.sessions.map(\.name) == ["walk"] && group.sessions[0].devices.keys.sorted() == [pi])
        #expect(!registry.hasChanges)
        registry.commit()
        messages = takeMessages()
        #expect(messages.commands == 1 && messages.states.map { $0?.name } == ["walk"])
    }

    @Test("a rolled back transaction leaves nothing, and the same requests lead to the same session")
    mutating func rollback() throws {
        try send(.start, #"{"name":"walk"}"#)
        _ = take()
        registry.rollback()
        #expect(registry[sessionKey] == nil && !registry.isActive)
        try send(.start, #"{"name":"walk"}"#)
        _ = take()
        registry.commit()
        try send(.mark, #"{"id":"a","text":"turn","t":5}"#, 1)
        try send(.edit, #"{"labels":{"subject":"7"}}"#, 1)
        let marked = take()
        #expect(marked.markers.count == 1)
        registry.rollback()
        #expect(registry[sessionKey]?.markers == [] && registry[sessionKey]?.labels == [:])
        for _ in 1...2 { try send(.mark, #"{"id":"a","text":"turn","t":5}"#, 2) }
        try send(.edit, #"{"labels":{"subject":"7"}}"#, 2)
        let group = take()
        #expect(group.sessions.first?.labels == ["subject": "7"])
        #expect(registry[sessionKey]?.markers.map(\.text) == ["turn"])
    }

    @Test("a request to start that is delivered again changes nothing")
    mutating func repeatedStart() throws {
        try send(.start, #"{"name":"walk"}"#)
        _ = take()
        registry.commit()
        try send(.start, #"{"name":"another"}"#, 5)
        #expect(registry[sessionKey]?.name == "walk" && !registry.hasChanges)
    }

    @Test("a device of the group that appears becomes part of it; of a list of devices, none does")
    mutating func joining() throws {
        try send(.start, #"{"name":"walk"}"#)
        let late = DeviceID(unchecked: "late")
        _ = take([sessionRun(1, late, seq: 1, isLive: false)], 1)
        #expect(registry[sessionKey]?.devices.keys.sorted() == [pi])
        _ = take([sessionRun(1, late, seq: 1)], 1)
        #expect(registry[sessionKey]?.devices.keys.sorted() == [late, pi])
        let group = take([sessionRun(2, late, seq: 2)], 2)
        #expect(group.sessions.isEmpty, "figures are not written")
    }

    @Test("a deleted session is written, published as deleted, and gone; requests about it are rejected")
    mutating func deletion() throws {
        try send(.start, #"{"name":"walk"}"#)
        _ = take()
        registry.commit()
        _ = takeMessages()
        try send(.delete)
        let deleted = take()
        #expect(deleted.sessions.map(\.state) == [.deleted])
        registry.commit()
        let messages = takeMessages()
        #expect(messages.states == [nil] && !registry.isActive && registry[sessionKey] == nil)
        var error: PayloadError?
        do { try send(.mark, "turn") } catch let rejection as PayloadError { error = rejection }
        #expect(error?.description.contains("there is no session 'walk'") == true)
        try send(.delete)
    }

    @Test("markers of plain text that are read at the same moment are all kept")
    mutating func markersAtOnce() throws {
        try send(.start, #"{"name":"walk"}"#)
        for text in ["left", "right", #"{"text":"turn"}"#, #"{"text":"back"}"#] { try send(.mark, text, 1) }
        #expect(registry[sessionKey]?.markers.map(\.text).sorted() == ["back", "left", "right", "turn"])
        for _ in 1...2 { try send(.mark, #"{"text":"step","t":5}"#, 1) }
        #expect(registry[sessionKey]?.markers.count == 5, "the time is the id of a marker without one")
    }

    @Test("the deletion of an unknown session is published, because the broker may still have it")
    mutating func unknownDeletion() throws {
        try send(.delete)
        let messages = takeMessages()
        #expect(messages.states == [nil])
    }

    @Test(
        "a session that has ended is split: markers and devices follow, a repeated request changes nothing, a rollback undoes it"
    )
    mutating func split() throws {
        try send(.start, #"{"name":"walk","within_s":0,"labels":{"subject":"7"},"for_s":60}"#)
        tick(0)
        func split(_ seconds: Double) -> String {
            #"{"t":\#(time(seconds).microseconds),"id":"back","name":"way back"}"#
        }
        for (id, seconds) in [("a", 2.0), ("b", 5), ("c", 7)] {
            try send(.mark, #"{"id":"\#(id)","text":"x","t":\#(time(seconds).microseconds)}"#, seconds)
        }
        var errors: [String] = []
        do { try send(.split, split(5), 8) } catch { errors.append("\(error)") }
        try send(.stop, "", 10)
        tick(100)
        tick(101)
        _ = take()
        registry.commit()
        #expect(registry[sessionKey]?.state == .incomplete)
        do { try send(.split, split(10), 102) } catch { errors.append("\(error)") }
        #expect(errors.count == 2 && errors[0].contains("has ended") && errors[1].contains("between start and end"))
        let second = RecordingSession.Key(group: sessionKey.group, id: SessionID(unchecked: "back"))
        try send(.split, split(5), 103)
        #expect(registry[second] != nil)
        registry.rollback()
        #expect(registry[second] == nil && registry[sessionKey]?.markers.count == 3)
        for _ in 1...2 { try send(.split, split(5), 104) }
        let group = take()
        registry.commit()
        let (first, rest) = (try #require(registry[sessionKey]), try #require(registry[second]))
        #expect(
            first.start == time(0) && first.end == time(5) && first.markers.map(\.id) == ["a"] && first.length == nil)
        #expect(rest.start == time(5) && rest.end == time(10) && rest.markers.map(\.id) == ["b", "c"])
        #expect(rest.name == "way back" && rest.labels == ["subject": "7"] && rest.devices == first.devices)
        #expect(group.splits.count == 1 && group.splits[0] == (sessionKey, ["b", "c"]))
        #expect(
            group.markers.map(\.session) == [second, second] && Set(group.sessions.map(\.key)) == [sessionKey, second])
        #expect(registry.isActive && rest.state == .incomplete)
        // Another session with the id is kept.
        errors = []
        do { try send(.split, split(3), 105) } catch { errors.append("\(error)") }
        #expect(errors.count == 1 && errors[0].contains("there is a session 'back'") && !registry.hasChanges)
    }

    @Test("a split that is delivered again takes the markers that a killed collector has left in the first part")
    mutating func repeatedSplit() throws {
        func marker(_ id: String, _ seconds: Double) -> RecordingSession.Marker {
            .init(id: id, time: time(seconds), clock: .client, text: "x")
        }
        var first = RecordingSession(key: sessionKey, name: "walk", created: time(0))
        (first.state, first.start, first.end) = (.complete, time(0), time(5))
        first.markers = [marker("a", 2), marker("b", 6), marker("c", 7)]
        var second = RecordingSession(key: otherKey, name: "all", created: time(0))
        (second.state, second.start, second.end) = (.complete, time(5), time(10))
        second.markers = [marker("b", 6)]
        registry = SessionRegistry([first, second], at: moment(20))
        try send(.split, #"{"t":\#(time(5).microseconds),"id":"all"}"#, 21)
        let group = take()
        registry.commit()
        #expect(
            registry[sessionKey]?.markers.map(\.id) == ["a"] && registry[otherKey]?.markers.map(\.id) == ["b", "c"])
        #expect(group.splits.count == 1 && group.splits[0] == (sessionKey, ["b", "c"]) && group.sessions.isEmpty)
        #expect(group.markers.map(\.session) == [otherKey] && group.markers.map(\.marker.id) == ["c"])
    }

    @Test("a marker from before 1970 is rejected")
    mutating func earlyMarker() throws {
        try send(.start, #"{"name":"walk"}"#)
        var error: PayloadError?
        do { try send(.mark, #"{"text":"turn","t":-1}"#) } catch let rejection as PayloadError { error = rejection }
        #expect(error?.description == "'t' must be a time in µs since 1970")
    }

    @Test("labels and devices of a session are limited")
    mutating func limits() throws {
        try send(.start, #"{"name":"walk"}"#)
        let labels = { (from: Int) in
            "{\"labels\":{" + (from..<from + 60).map { "\"k\($0)\":\"v\"" }.joined(separator: ",") + "}}"
        }
        try send(.edit, labels(0))
        var errors: [String] = []
        do { try send(.edit, labels(60)) } catch { errors.append("\(error)") }
        let start = try SessionJSON.decode(.start, Data(#"{"name":"all"}"#.utf8), of: otherKey, at: moment(0).wall)
        do {
            try registry.handle(
                start, of: otherKey, known: { (0...1000).map { DeviceID(unchecked: "d\($0)") } }, at: moment(0))
        } catch { errors.append("\(error)") }
        #expect(errors.count == 2 && errors[0].contains("100 labels") && errors[1].contains("1001 devices"))
        #expect(registry[sessionKey]?.labels.count == 60 && registry[otherKey] == nil)
    }

    @Test("a session has the last calibration that each device has announced before the end")
    mutating func calibration() throws {
        func announced(_ device: DeviceID, _ offset: Double?) {
            let calibration = offset.map {
                InertialCalibration(
                    time: time(0), matrix: InertialCalibration.identity, offset: [$0, 0, 0], positions: 9,
                    errorBefore: 0.08, errorAfter: 0.001)
            }
            registry.receive(calibration, of: DeviceAddress(group: sessionKey.group, device: device))
        }
        func isStored(_ device: DeviceID, _ offset: Double) -> Bool {
            let text = registry[sessionKey]?.devices[device]?.calibration
            return text?.contains(#""offset":[\#(offset),0,0]"#) == true
        }
        let late = DeviceID(unchecked: "late")
        for device in [pi, late] { announced(device, 0.08) }
        try send(.start, #"{"name":"walk"}"#)
        #expect(isStored(pi, 0.08))
        _ = take([sessionRun(1, late, seq: 1)], 1)
        #expect(isStored(late, 0.08))
        registry.commit()
        announced(late, nil)
        announced(pi, 0.05)
        #expect(take().sessions.count == 1 && isStored(pi, 0.05))
        #expect(registry[sessionKey]?.devices[late]?.calibration == nil)
        registry.commit()
        try send(.stop, "", 9)
        announced(pi, 0.02)
        #expect(isStored(pi, 0.05), "what is announced after the end is not of the session")
    }

    /// Returns a session with one device that has ended.
    private func ended(_ state: RecordingSession.State) -> RecordingSession {
        var session = RecordingSession(key: sessionKey, name: "walk", created: time(0))
        session.state = state
        (session.start, session.end) = (time(1), time(2))
        session.devices[pi] = .init(joined: time(0))
        return session
    }

    @Test("after a restart, a session does not wait for a device that was offline before")
    mutating func restoredOffline() throws {
        let session = ended(.stopping)
        for isOffline in [false, true] {
            registry = SessionRegistry([session], at: moment(3))
            if isOffline { registry.didLeave(DeviceAddress(group: sessionKey.group, device: pi)) }
            // Its batch numbers are read in the first.
            for seconds in [3.0, 5.0] { tick(seconds) }
            #expect(registry[sessionKey]?.state == (isOffline ? .incomplete : .stopping))
        }
    }

    @Test("a restored session goes on: it asks again for leases, and for the end of those that had stopped")
    mutating func restoring() throws {
        var session = ended(.incomplete)
        session.devices[pi]?.firstNumbers = [epoch: 1]
        session.devices[pi]?.hasSamples = true
        registry = SessionRegistry([session], at: moment(100))
        tick(100)
        _ = take()
        registry.commit()
        let taken = registry.takeMessages()
        let request = try #require(taken.commands.first?.request)
        #expect(request.action == .flush && taken.states.count == 1)
        let reply = AgentReply(id: request.id, outcome: .flushed(batches: 0), newest: [epoch: 2])
        registry.receive(reply, of: DeviceAddress(group: sessionKey.group, device: pi), at: moment(101))
        var numbers = BatchNumbers()
        numbers.received = SequenceSet([1...2])
        tick(102, [epoch: numbers])
        #expect(registry[sessionKey]?.state == .complete)
    }

    @Test("an imported session that is incomplete stays so: its batch numbers are unknown")
    mutating func imported() throws {
        var session = ended(.incomplete)
        session.devices[pi]?.hasSamples = true
        session.devices[pi]?.problem = "2 batches missing"
        registry = SessionRegistry([session], at: moment(100))
        session.name = "run"
        try send(.edit, #"{"name":"run"}"#, 100)
        tick(100)
        _ = take()
        registry.commit()
        #expect(takeMessages().commands == 0)
        let reply = AgentReply(id: "session/walk/1", outcome: .flushed(batches: 0), newest: [epoch: 2])
        registry.receive(reply, of: DeviceAddress(group: sessionKey.group, device: pi), at: moment(101))
        var numbers = BatchNumbers()
        numbers.received = SequenceSet([1...2])
        for seconds in [102.0, 104] { tick(seconds, [epoch: numbers]) }
        #expect(registry[sessionKey] == session)
    }

    /// Random histories: what is committed survives, what is rolled back does not, and the end is the same.
    @Test("random histories with rollbacks and restarts end complete, with all markers once", arguments: 1...200)
    mutating func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var stored: RecordingSession?
        var seconds = 0.0
        var accepted: Int64 = 0
        var received = BatchNumbers()
        var waiting: Set<Int64> = []
        var markers: Set<String> = []
        var hasAnswered = false
        var answers: [String] = []
        let address = DeviceAddress(group: sessionKey.group, device: pi)

        /// Ends the transaction. After a rollback, the broker delivers everything again.
        func end(_ group: IngestGroup, _ registry: inout SessionRegistry) -> Bool {
            guard Int.random(in: 0..<4, using: &random) > 0 else {
                registry.rollback()
                return false
            }
            registry.commit()
            if let session = group.sessions.last {
                let known = stored?.markers ?? []
                stored = session
                stored?.markers = known
            }
            for (_, marker) in group.markers { stored?.add(marker) }
            for command in registry.takeMessages().commands where command.request.action == .flush {
                hasAnswered = false
                answers.append(command.request.id ?? "")
            }
            return true
        }
        var pending: [(SessionRequest.Verb, String)] = [(.start, #"{"name":"walk","within_s":1}"#)]
        var steps = 0
        while steps < 300 {
            steps += 1
            seconds += Double.random(in: 0.1...2, using: &random)
            if steps == 60 { pending.append((.stop, "")) }
            if steps > 2, steps < 60, Int.random(in: 0..<5, using: &random) == 0 {
                let id = "m\(steps)"
                markers.insert(id)
                pending.append((.mark, #"{"id":"\#(id)","text":"x"}"#))
            }
            if Int.random(in: 0..<20, using: &random) == 0, let session = stored {
                // SIGKILL: nothing of the transaction is left.
                registry = SessionRegistry([session], at: moment(seconds))
            }
            for (verb, text) in pending { try send(verb, text, seconds) }
            // The device accepts a batch, which arrives now or later.
            accepted += 1
            waiting.insert(accepted)
            let arriving = waiting.filter { _ in steps > 100 || Bool.random(using: &random) }
            tick(seconds, [epoch: received])
            let runs = arriving.sorted().map { sessionRun(seconds, pi, hz: 10, seq: $0, isLive: $0 == accepted) }
            let group = take(runs, seconds)
            if end(group, &registry) {
                pending = []
                waiting.subtract(arriving)
                received.received.formUnion(SequenceSet(arriving.sorted().map { $0...$0 }))
            }
            for id in answers where Bool.random(using: &random) && !hasAnswered {
                hasAnswered = true
                registry.receive(
                    AgentReply(id: id, outcome: .flushed(batches: 0), newest: [epoch: accepted]), of: address,
                    at: moment(seconds))
            }
            answers = []
            if stored?.state == .complete { break }
        }
        let session = try #require(stored)
        #expect(session.state == .complete, "seed \(seed): \(session)")
        #expect(Set(session.markers.map(\.id)) == markers && session.markers.count == markers.count, "seed \(seed)")
        let last = try #require(session.devices[pi]?.lastNumbers?[epoch])
        let first = session.devices[pi]?.firstNumbers?[epoch] ?? 1
        #expect(SequenceSet([first...last]).subtracting(received.received).isEmpty, "seed \(seed)")
    }
}
