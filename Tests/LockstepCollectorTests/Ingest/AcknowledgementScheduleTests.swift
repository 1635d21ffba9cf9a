import LockstepModel
import LockstepStore
import Testing

@testable import LockstepCollector

@Suite("Acknowledgement schedule")
struct AcknowledgementScheduleTests {
    private let key = DeviceEpoch(device: device, epoch: epoch)
    private let second: Int64 = 1_000_000
    /// The boot time at the start of a test. The machine has been running for a while.
    private let begin: Int64 = 1_000_000_000
    /// The time from the end of the last read to a commit, in µs.
    fileprivate static let commit: Int64 = 20_000

    @Test("an empty schedule has no deadline and no acknowledgements")
    func empty() {
        var schedule = AcknowledgementSchedule()
        #expect(schedule.nextDeadline == nil)
        let acks = schedule.takeDue(at: begin, isStopping: false)
        #expect(acks.isEmpty)
    }

    @Test("the next deadline is at most 100 ms after the commit")
    func nextDeadline() {
        var schedule = AcknowledgementSchedule()
        schedule.schedule(key, received: SequenceSet([1...1]), at: begin)
        let deadline = schedule.nextDeadline ?? .max
        #expect(deadline <= begin + 100_000)
        #expect(deadline >= begin)
    }

    @Test("all pending acknowledgements are sent when the collector stops")
    func stop() {
        var schedule = AcknowledgementSchedule()
        schedule.schedule(key, received: SequenceSet([1...1]), at: begin)
        let acks = schedule.takeDue(at: begin, isStopping: true)
        #expect(acks.map(\.ack.through) == [1])
        #expect(schedule.nextDeadline == nil)
    }

    @Test("the first acknowledgement is sent after a short delay, and covers all batches stored until then")
    func first() {
        var schedule = AcknowledgementSchedule()
        schedule.schedule(key, received: SequenceSet([1...1]), at: begin)
        let early = schedule.takeDue(at: begin, isStopping: false)
        #expect(early.isEmpty)
        schedule.schedule(key, received: SequenceSet([1...2]), at: begin + 60_000)
        let before = schedule.takeDue(at: begin + 99_999, isStopping: false)
        #expect(before.isEmpty)
        let (at, acks) = next(&schedule, from: begin + 100_000)
        #expect(at <= begin + 200_000)
        #expect(acks.map(\.device) == [device])
        #expect(
            acks.map(\.ack) == [Acknowledgement(epoch: epoch, through: 2, holdTime: at - begin - 60_000 + Self.commit)])
        #expect(schedule.nextDeadline == nil)
    }

    @Test("a steady stream of batches is acknowledged about once a second, with the newest state")
    func coalescing() {
        var schedule = AcknowledgementSchedule()
        var sent: [(at: Int64, through: Int64)] = []
        var number: Int64 = 0
        for now in stride(from: begin, to: begin + 20 * second, by: 10_000) {
            number += 1
            schedule.schedule(key, received: SequenceSet([1...number]), at: now)
            for (_, ack) in schedule.takeDue(at: now, isStopping: false) {
                #expect(ack.through == number)
                sent.append((now, ack.through))
            }
        }
        #expect((19...23).contains(sent.count))
        #expect(zip(sent.dropFirst(), sent).allSatisfy { $0.at - $1.at >= AcknowledgementSchedule.minInterval })
        let (at, last) = next(&schedule, from: begin + 20 * second)
        #expect(last.map(\.ack.through) == [number])
        #expect(at <= begin + 22 * second)
    }

    @Test("each window of an agent is acknowledged with the same delay, even if the collector checks late")
    func windows() {
        var schedule = AcknowledgementSchedule()
        for window in 0..<60 as Range<Int64> {
            let now = begin + window * second
            schedule.schedule(key, received: SequenceSet([1...window + 1]), at: now)
            _ = schedule.takeDue(at: now, isStopping: false)
            let acks = schedule.takeDue(at: now + 150_000, isStopping: false)
            #expect(acks.map(\.ack.holdTime) == [170_000], "window \(window)")
        }
    }

    @Test("after a pause, the next acknowledgement is sent after the short delay again")
    func afterPause() {
        var schedule = AcknowledgementSchedule()
        schedule.schedule(key, received: SequenceSet([1...1]), at: begin)
        _ = next(&schedule, from: begin)
        schedule.schedule(key, received: SequenceSet([1...2]), at: begin + 10 * second)
        let (at, acks) = next(&schedule, from: begin + 10 * second)
        #expect(acks.count == 1)
        #expect((100_000...200_000).contains(at - begin - 10 * second))
    }

    @Test("epochs are acknowledged independently of each other")
    func independent() {
        var schedule = AcknowledgementSchedule()
        let later = DeviceEpoch(device: device, epoch: Epoch(unchecked: "e2"))
        schedule.schedule(key, received: SequenceSet([1...1]), at: begin)
        _ = next(&schedule, from: begin)
        schedule.schedule(key, received: SequenceSet([1...2]), at: begin + 300_000)
        schedule.schedule(later, number: 7, received: SequenceSet([1...1, 3...3]), at: begin + 300_000)
        let (at, acks) = next(&schedule, from: begin + 300_000)
        #expect(at <= begin + 500_000)
        #expect(
            acks.map(\.ack) == [
                Acknowledgement(
                    epoch: later.epoch, through: 1, missing: [2...2], highest: 3,
                    holdTime: at - begin - 300_000 + Self.commit)
            ])
        let (then, rest) = next(&schedule, from: at)
        #expect(then - begin >= AcknowledgementSchedule.minInterval)
        #expect(
            rest.map(\.ack) == [
                Acknowledgement(epoch: epoch, through: 2, holdTime: then - begin - 300_000 + Self.commit)
            ])
    }

    @Test("two devices are acknowledged independently, even if the numbers of their epochs are far apart")
    func distantNumbers() {
        var schedule = AcknowledgementSchedule()
        let other = DeviceAddress(group: device.group, device: DeviceID(unchecked: "other"))
        schedule.schedule(
            DeviceEpoch(device: other, epoch: epoch), number: 5000, received: SequenceSet([1...9]), at: begin)
        schedule.schedule(key, received: SequenceSet([1...2]), at: begin)
        let (_, acks) = next(&schedule, from: begin)
        #expect(Set(acks.map(\.device)) == [device, other])
        #expect(acks.first { $0.device == other }?.ack.through == 9)
        #expect(acks.first { $0.device == device }?.ack.through == 2)
    }

    /// Takes acknowledgements at the deadlines of the schedule until there are some.
    private func next(
        _ schedule: inout AcknowledgementSchedule, from boot: Int64
    ) -> (at: Int64, acks: [(device: DeviceAddress, ack: Acknowledgement)]) {
        var now = boot
        for _ in 0..<1000 {
            guard let deadline = schedule.nextDeadline else { break }
            now = max(now, deadline)
            let acks = schedule.takeDue(at: now, isStopping: false)
            if !acks.isEmpty { return (now, acks) }
        }
        Issue.record("the schedule returned no acknowledgement")
        return (now, [])
    }
}

extension AcknowledgementSchedule {
    fileprivate mutating func schedule(
        _ key: DeviceEpoch, number: Int = 0, received: SequenceSet, at boot: Int64
    ) {
        schedule(
            IngestResult.Scope(key: key, number: number, received: received),
            after: boot - AcknowledgementScheduleTests.commit, at: boot)
    }
}
