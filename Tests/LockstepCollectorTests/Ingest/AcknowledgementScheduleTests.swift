import LockstepModel
import LockstepStore
import Testing

@testable import LockstepCollector

@Suite("The schedule of acknowledgements")
struct AcknowledgementScheduleTests {
    private let key = DeviceEpoch(device: device, epoch: epoch)
    private let second: Int64 = 1_000_000
    /// Boot time at the begin: a machine that has run for a while.
    private let begin: Int64 = 1_000_000_000

    @Test("has nothing to say where nothing was noted")
    func empty() {
        var schedule = AcknowledgementSchedule()
        #expect(schedule.nextDue == nil)
        let due = schedule.takeDue(at: begin)
        #expect(due.isEmpty)
    }

    @Test("says when to look next: not before now, or the loop computes with the beginning of time")
    func nextDue() {
        var schedule = AcknowledgementSchedule()
        schedule.note(key, received: SequenceSet([1...1]), at: begin)
        let due = schedule.nextDue ?? .max
        #expect(due <= begin + 100_000)
        #expect(due >= begin)
    }

    @Test("acknowledges a first batch soon, with what came in meanwhile")
    func first() {
        var schedule = AcknowledgementSchedule()
        schedule.note(key, received: SequenceSet([1...1]), at: begin)
        let early = schedule.takeDue(at: begin)
        #expect(early.isEmpty)
        schedule.note(key, received: SequenceSet([1...2]), at: begin + 60_000)
        let before = schedule.takeDue(at: begin + 99_999)
        #expect(before.isEmpty)
        let (at, acks) = next(&schedule, from: begin + 100_000)
        #expect(at <= begin + 200_000)
        #expect(acks.map(\.device) == [device])
        #expect(acks.map(\.ack) == [Acknowledgement(epoch: epoch, through: 2, held: at - begin - 60_000)])
        #expect(schedule.nextDue == nil)
    }

    @Test("acknowledges about once a second where batches keep coming, and the newest wins")
    func coalescing() {
        var schedule = AcknowledgementSchedule()
        var said: [(at: Int64, through: Int64)] = []
        var number: Int64 = 0
        for now in stride(from: begin, to: begin + 20 * second, by: 10_000) {
            number += 1
            schedule.note(key, received: SequenceSet([1...number]), at: now)
            for (_, ack) in schedule.takeDue(at: now) {
                #expect(ack.through == number)
                said.append((now, ack.through))
            }
        }
        #expect((19...23).contains(said.count))
        #expect(zip(said.dropFirst(), said).allSatisfy { $0.at - $1.at >= AcknowledgementSchedule.pause })
        let (at, last) = next(&schedule, from: begin + 20 * second)
        #expect(last.map(\.ack.through) == [number])
        #expect(at <= begin + 22 * second)
    }

    @Test("acknowledges each window of an agent as soon as the first, though it looks late now and then")
    func windows() {
        var schedule = AcknowledgementSchedule()
        for window in 0..<60 as Range<Int64> {
            let now = begin + window * second
            schedule.note(key, received: SequenceSet([1...window + 1]), at: now)
            _ = schedule.takeDue(at: now)
            let acks = schedule.takeDue(at: now + 150_000)
            #expect(acks.map(\.ack.held) == [150_000], "window \(window)")
        }
    }

    @Test("acknowledges soon again after a pause")
    func afterPause() {
        var schedule = AcknowledgementSchedule()
        schedule.note(key, received: SequenceSet([1...1]), at: begin)
        _ = next(&schedule, from: begin)
        schedule.note(key, received: SequenceSet([1...2]), at: begin + 10 * second)
        let (at, acks) = next(&schedule, from: begin + 10 * second)
        #expect(acks.count == 1)
        #expect((100_000...200_000).contains(at - begin - 10 * second))
    }

    @Test("lets devices and epochs not wait for each other")
    func independent() {
        var schedule = AcknowledgementSchedule()
        let later = DeviceEpoch(device: device, epoch: Epoch(unchecked: "e2"))
        schedule.note(key, received: SequenceSet([1...1]), at: begin)
        _ = next(&schedule, from: begin)
        schedule.note(key, received: SequenceSet([1...2]), at: begin + 300_000)
        schedule.note(later, received: SequenceSet([1...1, 3...3]), at: begin + 300_000)
        let (at, acks) = next(&schedule, from: begin + 300_000)
        #expect(at <= begin + 500_000)
        #expect(
            acks.map(\.ack) == [
                Acknowledgement(
                    epoch: later.epoch, through: 1, missing: [2...2], highest: 3, held: at - begin - 300_000)
            ])
        let (then, rest) = next(&schedule, from: at)
        #expect(then - begin >= AcknowledgementSchedule.pause)
        #expect(rest.map(\.ack) == [Acknowledgement(epoch: epoch, through: 2, held: then - begin - 300_000)])
    }

    /// Looks as often as the schedule asks for it, until something is due.
    private func next(
        _ schedule: inout AcknowledgementSchedule, from boot: Int64
    ) -> (at: Int64, acks: [(device: DeviceAddress, ack: Acknowledgement)]) {
        var now = boot
        for _ in 0..<1000 {
            guard let due = schedule.nextDue else { break }
            now = max(now, due)
            let acks = schedule.takeDue(at: now)
            if !acks.isEmpty { return (now, acks) }
        }
        Issue.record("nothing became due")
        return (now, [])
    }
}
