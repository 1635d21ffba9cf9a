import LockstepModel
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Decisions about a recorded session")
struct SessionMachineTests {
    private static let rate = 100.0
    private let left = DeviceID(unchecked: "left")
    private let right = DeviceID(unchecked: "right")
    private var machine: SessionMachine
    /// The requests since the last look.
    private var requests: [SessionMachine.Command] = []

    init() {
        var session = RecordingSession(key: sessionKey, name: "walk", created: time(0))
        session.rates = ["motion/accelerometer": Self.rate]
        for id in [left, right] { session.devices[id] = .init(joined: time(0)) }
        machine = SessionMachine(session, at: moment(0))
    }

    private var session: RecordingSession { machine.session }
    private func problem(_ id: DeviceID) -> String? { session.devices[id]?.problem }

    private mutating func tick(_ seconds: Double) { requests = machine.tick(at: moment(seconds)) }

    /// Samples of the second before a time, at a rate.
    private mutating func receive(
        _ seconds: Double, _ id: DeviceID, hz: Double = rate, seq: Int64 = 1, isLive: Bool = true
    ) {
        machine.receive(sessionRun(seconds, id, hz: hz, seq: seq, isLive: isLive), at: moment(seconds))
    }

    private mutating func grant(_ id: DeviceID, hz: Double = rate, _ seconds: Double) {
        machine.receive(
            AgentReply(id: "", outcome: .leased(stream: .accelerometer, rate: hz, until: nil)), of: id,
            at: moment(seconds))
    }

    private mutating func flush(_ id: DeviceID, newest: Int64, _ seconds: Double) {
        machine.receive(
            AgentReply(id: "", outcome: .flushed(batches: 0), newest: [epoch: newest]), of: id, at: moment(seconds))
    }

    private mutating func read(_ id: DeviceID, received: [ClosedRange<Int64>], dropped: [ClosedRange<Int64>] = []) {
        var numbers = BatchNumbers()
        numbers.received = SequenceSet(received)
        numbers.dropped = SequenceSet(dropped)
        machine.didRead([epoch: numbers], of: id)
    }

    /// Lets the session record from 4 s on. Both devices had nine batches before.
    private mutating func record() {
        tick(0)
        for id in [left, right] {
            read(id, received: [1...9])
            grant(id, 0.5)
            receive(1, id)
            receive(2, id)
        }
        tick(3)
        tick(4)
        for id in [left, right] { receive(5, id, seq: 10) }
    }

    /// Stops the session after 10 s, with the newest number that each device reports at once, and the numbers that are stored.
    private mutating func end(
        newest: [DeviceID: Int64], received: [DeviceID: [ClosedRange<Int64>]], dropped: [ClosedRange<Int64>] = []
    ) {
        machine.stop(at: moment(10))
        tick(10.5)
        for (id, number) in newest { flush(id, newest: number, 10.6) }
        for (id, ranges) in received { read(id, received: ranges, dropped: dropped) }
    }

    @Test("it starts a second after all streams arrive at their rates, and names who is not ready before")
    mutating func preparation() {
        tick(0)
        #expect(machine.devicesWithoutNumbers.sorted() == [left, right])
        for id in [left, right] { read(id, received: [1...9]) }
        #expect(requests.map(\.device) == [left, right] && problem(left) == "the store has not answered")
        tick(1)
        #expect(problem(left) == "does not answer" && requests.isEmpty)
        grant(left, 1)
        grant(right, hz: 25, 1)
        tick(2)
        #expect(problem(left) == "sends nothing")
        #expect(problem(right) == "motion/accelerometer: the device gives 25 of 100 Hz")
        receive(2, left)
        receive(3, left, hz: 50)
        tick(3)
        #expect(problem(left) == "motion/accelerometer arrives at 50 of 100 Hz")
        grant(right, 3)
        receive(4, left)
        receive(3, right)
        receive(4, right)
        tick(4)
        #expect(problem(left) == nil && problem(right) == nil)
        #expect(session.state == .armed && session.start == time(5))
        tick(4.9)
        #expect(session.state == .armed)
        tick(5)
        #expect(session.state == .recording)
    }

    @Test("it starts without devices that are not ready in time, and asks them again")
    mutating func patience() {
        tick(0)
        tick(5)
        // Those that have not answered are asked again.
        #expect(requests.count == 2)
        tick(29.9)
        #expect(session.state == .preparing)
        tick(30)
        #expect(session.state == .recording && session.start == time(30) && problem(left) != nil)
    }

    @Test("a clock with a larger error than asked delays the start")
    mutating func clockBound() {
        var asked = session
        asked.clockBound = 1000
        asked.rates = [:]
        machine = SessionMachine(asked, at: moment(0))
        for id in [left, right] {
            read(id, received: [])
            receive(1, id)
        }
        tick(1)
        #expect(problem(left) == "the error of its clock is unknown")
        func point(_ bound: Int64) -> ClockPoint {
            ClockPoint(
                collector: CollectorID(unchecked: "main"), time: time(2), segment: time(0), offset: 0, skew: 0,
                bound: bound, skewBound: 0)
        }
        machine.receive(point(5000), of: left)
        machine.receive(point(500), of: right)
        tick(2)
        #expect(problem(left) == "the error of its clock may be 5000 µs" && problem(right) == nil)
        machine.receive(point(900), of: left)
        tick(2)
        #expect(session.state == .armed && session.devices[left]?.clockBound == 900)
    }

    @Test("it is complete when each device has reported its newest batch and all up to it are stored")
    mutating func completion() {
        record()
        #expect(session.state == .recording && session.start == time(4))
        machine.stop(at: moment(10))
        tick(10.4)
        #expect(session.state == .stopping && session.end == time(10))
        #expect(requests.isEmpty, "the last samples before the end come at the asked rates")
        tick(10.5)
        let flushes = requests.filter { $0.request.action == .flush }.map(\.device)
        #expect(flushes == [left, right])
        // Their leases end.
        #expect(requests.contains { if case .lease(let lease) = $0.request.action { lease.rate == 0 } else { false } })
        flush(left, newest: 12, 10.6)
        flush(right, newest: 12, 10.6)
        read(left, received: [1...12])
        read(right, received: [1...10])
        tick(11)
        #expect(session.state == .stopping && problem(right) == "2 batches on the way")
        receive(11, right, seq: 12, isLive: false)
        #expect(machine.devicesWithoutNumbers == [right])
        read(right, received: [1...12])
        tick(11.2)
        #expect(session.state == .complete && session.devices.values.allSatisfy { $0.problem == nil })
        tick(100)
        #expect(requests.isEmpty)
    }

    @Test("a device that does not answer makes it incomplete, and complete when it returns")
    mutating func laterReturn() {
        record()
        end(newest: [left: 10], received: [left: [1...10], right: [1...10]])
        tick(39.9)
        #expect(session.state == .stopping)
        tick(40)
        #expect(session.state == .incomplete && problem(right) == "has not answered since the end")
        machine.didLeave(right)
        tick(100)
        tick(200)
        #expect(requests.isEmpty)
        // A day later. It does not answer at once.
        machine.didReturn(right)
        tick(86_400)
        #expect(requests.contains { $0.request.action == .flush })
        tick(86_404)
        #expect(requests.isEmpty)
        tick(86_405)
        #expect(requests.contains { $0.request.action == .flush })
        flush(right, newest: 15, 86_406)
        read(right, received: [1...12])
        tick(86_407)
        #expect(session.state == .incomplete && problem(right) == "3 batches on the way")
        receive(86_408, right, seq: 15, isLive: false)
        read(right, received: [1...15])
        tick(86_409)
        #expect(session.state == .complete)
    }

    @Test("a device whose connection has ended makes it incomplete at once")
    mutating func offline() {
        record()
        machine.didLeave(right)
        tick(6)
        #expect(problem(right) == "is offline")
        end(newest: [left: 10], received: [left: [1...10], right: [1...10]])
        tick(10.2)
        #expect(session.state == .incomplete && problem(right) == "has not answered since the end")
    }

    @Test("what is dropped or gone makes it incomplete at once, but not what is from before the session")
    mutating func missing() {
        record()
        // 3 was dropped before the session.
        end(
            newest: [left: 12, right: 12], received: [left: [1...2, 4...12], right: [1...10, 12...12]],
            dropped: [3...3, 11...11])
        tick(10.2)
        #expect(problem(left) == nil && problem(right) == "1 batch missing" && session.state == .incomplete)
    }

    @Test("both parts of a session are complete when a device returns with samples of the second part only")
    mutating func split() {
        tick(0)
        for id in [left, right] { read(id, received: [1...9]) }
        tick(30)
        receive(35, left, seq: 10)
        machine.stop(at: moment(50))
        flush(left, newest: 10, 51)
        read(left, received: [1...10])
        flush(right, newest: 10, 52)
        read(right, received: [1...9])
        tick(81)
        #expect(session.state == .incomplete && problem(left) == nil && problem(right) != nil)
        let key = RecordingSession.Key(group: sessionKey.group, id: SessionID(unchecked: "back"))
        let rest = machine.split(at: time(40), into: key, name: "way back")
        let first = machine
        for part in [first, SessionMachine(rest, at: moment(82))] {
            machine = part
            for id in [left, right] {
                receive(45, id, seq: 10, isLive: false)
                flush(id, newest: 10, 83)
                read(id, received: [1...10])
            }
            tick(84)
            #expect(session.state == .complete, "\(session.key.id): \(session)")
        }
    }

    @Test("a device that sends nothing is named while it is recorded")
    mutating func silence() {
        record()
        receive(10, left)
        tick(16)
        #expect(problem(left) == nil && problem(right) == "sends nothing")
        receive(17, right)
        tick(17)
        #expect(problem(right) == nil)
    }

    @Test("a device without requests is complete when a later live batch shows its number")
    mutating func withoutRequests() {
        record()
        machine.stop(at: moment(10))
        flush(left, newest: 10, 10)
        read(left, received: [1...10])
        receive(15, right, seq: 11)
        #expect(session.devices[right]?.lastNumbers == nil)
        receive(21, right, seq: 17)
        read(right, received: [1...17])
        tick(21)
        #expect(session.state == .complete)
    }

    @Test("a device that has sent nothing, or only after the end, leaves it incomplete")
    mutating func noSamples() {
        tick(0)
        for id in [left, right] { read(id, received: []) }
        tick(30)
        receive(32, left, seq: 1)
        machine.stop(at: moment(40))
        receive(45, right, seq: 1)
        flush(left, newest: 1, 40)
        flush(right, newest: 1, 46)
        for id in [left, right] { read(id, received: [1...1]) }
        tick(46)
        #expect(session.state == .incomplete && problem(left) == nil && problem(right) == RecordingSession.noSamples)
    }

    @Test("it stops by itself after its length, and once")
    mutating func length() {
        var asked = session
        asked.length = 5_000_000
        asked.patience = 0
        machine = SessionMachine(asked, at: moment(0))
        tick(0)
        tick(6)
        #expect(session.state == .stopping && session.start == time(0) && session.end == time(5))
        machine.stop(at: moment(9))
        #expect(session.end == time(5))
    }

    @Test("samples of a device whose clock is an hour ahead are inside, if the offset is known")
    mutating func offset() {
        record()
        let point = ClockPoint(
            collector: CollectorID(unchecked: "main"), time: time(5), segment: time(0), offset: 3_600_000_000, skew: 0,
            bound: 100, skewBound: 0)
        var ahead = RecordingSession(key: sessionKey, name: "walk", created: time(0))
        ahead.devices[left] = .init(joined: time(0))
        (ahead.state, ahead.start, ahead.end) = (.stopping, time(4), time(10))
        machine = SessionMachine(ahead, at: moment(10))
        machine.receive(point, of: left)
        receive(9, left)
        #expect(session.devices[left]?.hasSamples == false, "an hour before the start")
        receive(3608, left)
        #expect(session.devices[left]?.hasSamples == true)
    }

    @Test("a session that is stopped before its start is complete without samples")
    mutating func stoppedBeforeStart() {
        tick(0)
        for id in [left, right] { read(id, received: [1...9]) }
        machine.stop(at: moment(2))
        for id in [left, right] {
            flush(id, newest: 9, 2)
            read(id, received: [1...9])
        }
        tick(2.2)
        #expect(session.state == .complete && session.start == session.end)
    }

    @Test("waits do not depend on steps of the collector's clock", arguments: [-3600.0, 3600])
    mutating func clockSteps(step: Double) {
        var asked = session
        asked.length = 100_000_000
        asked.patience = 20_000_000
        machine = SessionMachine(asked, at: moment(0))
        func stepped(_ seconds: Double) -> Moment {
            let boot = moment(seconds)
            return Moment(wall: time(seconds + step), boot: boot.boot, awake: boot.awake)
        }
        _ = machine.tick(at: stepped(19))
        #expect(session.state == .preparing)
        _ = machine.tick(at: stepped(20))
        #expect(session.state == .recording)
        _ = machine.tick(at: stepped(119))
        #expect(session.state == .recording)
        _ = machine.tick(at: stepped(121))
        #expect(session.state == .stopping)
        _ = machine.tick(at: stepped(152))
        #expect(session.state == .incomplete)
    }

    @Test("a session whose end is ahead of the clock, which was set back, waits as long as others")
    mutating func setBack() {
        record()
        let boot = moment(10)
        let back = Moment(wall: time(10 - 3600), boot: boot.boot, awake: boot.awake)
        machine.stop(at: back)
        #expect(session.end == session.start)
        _ = machine.tick(at: back)
        let later = moment(41)
        _ = machine.tick(at: Moment(wall: time(41 - 3600), boot: later.boot, awake: later.awake))
        #expect(session.state == .incomplete)
    }

    @Test("an incomplete session costs nothing until a device that it waits for sends something")
    mutating func waiting() {
        record()
        end(newest: [left: 10], received: [left: [1...10], right: [1...10]])
        machine.didLeave(right)
        tick(40)
        tick(50)
        #expect(session.state == .incomplete && machine.isWaiting(at: moment(60)))
        #expect(!machine.concerns(left) && machine.concerns(right) && !machine.concerns(DeviceID(unchecked: "new")))
        #expect(!machine.isAffected(by: sessionRun(60, left, seq: 11)))
        machine.didReturn(right)
        #expect(!machine.isWaiting(at: moment(60)))
    }

    @Test("what is on its way when the first numbers are read belongs to a session that has started")
    mutating func lateNumbers() {
        tick(30)
        #expect(session.state == .recording)
        read(left, received: [1...5, 9...9])
        #expect(session.devices[left]?.firstNumbers == [epoch: 6])
    }

    @Test("leases are renewed, and asked for at once when a device returns")
    mutating func leases() {
        record()
        tick(59)
        #expect(requests.isEmpty)
        tick(61)
        #expect(requests.map(\.device) == [left, right])
        machine.didReturn(left)
        tick(62)
        #expect(requests.map(\.device) == [left])
        #expect(Set(requests.map(\.request.id)).count == 1 && requests[0].request.client == "session/walk")
    }

    @Test("batches of an epoch that the device does not have any more are missing, those it has are on their way")
    func epochs() {
        let other = Epoch(unchecked: "e2")
        var old = BatchNumbers()
        old.received = SequenceSet([1...4, 6...8])
        let rest = SessionMachine.rest([epoch: old], from: [epoch: 3], to: [other: 2])
        #expect(rest.onItsWay == 2 && rest.missing == 1)
        let earlier = SessionMachine.rest([epoch: old], from: [epoch: 9], to: [:])
        #expect(earlier.onItsWay == 0 && earlier.missing == 0)
    }
}

let sessionKey = RecordingSession.Key(
    group: GroupID(unchecked: "lab"), id: SessionID(unchecked: "walk"))

/// A batch with the samples of the second before a time.
func sessionRun(
    _ seconds: Double, _ id: DeviceID, hz: Double = 100, seq: Int64, isLive: Bool = true
) -> SampleRun {
    var block = SampleBlock(stream: .accelerometer)
    let count = Int(hz)
    for index in 1...count {
        block.append(time: time(seconds - 1 + Double(index) / hz), values: [0, 0, 0])
    }
    var run = SampleRun(device: DeviceAddress(group: sessionKey.group, device: id), stream: .accelerometer)
    run.append(
        Batch(position: BatchPosition(epoch: epoch, seq: seq), isLive: isLive, samples: block), at: time(seconds))
    return run
}
