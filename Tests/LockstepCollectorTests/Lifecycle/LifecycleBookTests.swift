import LockstepModel
import LockstepStore
import Testing

@testable import LockstepCollector

@Suite("The book of life cycles")
struct LifecycleBookTests {
    private let other = DeviceAddress(group: device.group, device: DeviceID(unchecked: "other"))

    private func newBook(_ snapshots: [DeviceAddress: LifecycleSnapshot] = [:]) -> LifecycleBook {
        LifecycleBook(snapshots, timing: .init(), at: moment(0))
    }

    @Test("notes what there is to write, and keeps it when it is written")
    func commit() {
        var book = newBook()
        var group = IngestGroup()
        book.handle(presence(.foreground, 1), of: device, at: moment(1), into: &group)
        book.handle(presence(.background, 2), of: device, at: moment(2), into: &group)
        #expect(group.transitions.map(\.transition.to) == [.active, .background])
        #expect(group.transitions.allSatisfy { $0.device == device })
        #expect(group.lifecycles[device]?.last == group.transitions.last?.transition)
        #expect(book.states.isEmpty && book.deviceCount == 0)
        book.commit()
        #expect(book.states == [group.transitions[1]])
        #expect(book.deviceCount == 1)
    }

    @Test("lets time pass for a device that was first heard of since the last commit, too")
    func firstHeard() {
        var book = newBook()
        var group = IngestGroup()
        book.handle(presence(.foreground, 1), of: device, at: moment(1), into: &group)
        // The other's due time brings the tick that finds the next.
        book.startListening(at: moment(1))
        book.tick(at: moment(2), into: &group)
        book.commit()
        book.tick(at: moment(1 + 75), into: &group)
        #expect(group.transitions.map(\.transition.to) == [.active, .background])
    }

    @Test("takes back what could not be written, so that it is decided anew")
    func rollback() {
        var book = newBook()
        var first = IngestGroup()
        book.handle(presence(.foreground, 1), of: device, at: moment(1), into: &first)
        book.commit()
        var failed = IngestGroup()
        book.handle(presence(.background, 2), of: device, at: moment(2), into: &failed)
        book.handle(presence(.foreground, 2), of: other, at: moment(2), into: &failed)
        book.rollback()
        #expect(book.states == first.transitions)
        #expect(book.deviceCount == 1)
        var again = IngestGroup()
        book.handle(presence(.background, 2), of: device, at: moment(3), into: &again)
        book.handle(presence(.foreground, 2), of: other, at: moment(3), into: &again)
        #expect(again.transitions == failed.transitions)
        #expect(again.lifecycles == failed.lifecycles)
    }

    @Test("notes a device's snapshot also where its state does not change")
    func snapshots() {
        var book = newBook()
        var group = IngestGroup()
        book.handle(presence(.foreground, 1), of: device, at: moment(1), into: &group)
        book.commit()
        var heartbeat = IngestGroup()
        book.handle(presence(.foreground, 31), of: device, at: moment(31), into: &heartbeat)
        #expect(heartbeat.transitions.isEmpty)
        #expect(heartbeat.lifecycles[device]?.evidenceTime == time(31))
    }

    @Test("lets time pass for the devices that are due, and only for these")
    func ticks() {
        var book = newBook()
        var group = IngestGroup()
        book.handle(presence(.foreground, 0), of: device, at: moment(0), into: &group)
        book.handle(presence(.foreground, 50), of: other, at: moment(50), into: &group)
        book.commit()
        var early = IngestGroup()
        book.tick(at: moment(74), into: &early)
        #expect(early.isEmpty)
        var due = IngestGroup()
        book.tick(at: moment(75), into: &due)
        #expect(due.transitions.map(\.device) == [device])
        #expect(due.transitions.map(\.transition.reason) == ["silent"])
        book.commit()
        var later = IngestGroup()
        book.tick(at: moment(124), into: &later)
        #expect(later.isEmpty)
        book.tick(at: moment(125), into: &later)
        #expect(later.transitions.map(\.device) == [other])
    }

    @Test("lets time pass again where its effect could not be written")
    func ticksAfterRollback() {
        var book = newBook()
        var group = IngestGroup()
        book.handle(presence(.foreground, 0), of: device, at: moment(0), into: &group)
        book.commit()
        var failed = IngestGroup()
        book.tick(at: moment(80), into: &failed)
        book.rollback()
        var again = IngestGroup()
        book.tick(at: moment(81), into: &again)
        #expect(failed.transitions.count == 1 && again.transitions.count == 1)
        #expect(again.transitions.first?.transition.seq == 2)
    }

    @Test("goes on from the store, and counts silence from when it listens")
    func restored() {
        var book = newBook([device: Way.active.machine.snapshot, other: Way.terminated.machine.snapshot])
        #expect(book.deviceCount == 2 && book.states.count == 2)
        var group = IngestGroup()
        book.tick(at: moment(4000), into: &group)
        #expect(group.isEmpty)
        book.startListening(at: moment(5000))
        book.tick(at: moment(5074), into: &group)
        #expect(group.transitions.isEmpty)
        book.tick(at: moment(5075), into: &group)
        #expect(group.transitions.map(\.device) == [device])
    }

    @Test("starts the silence anew also of a device whose last word waits to be written")
    func listeningAgain() {
        var book = newBook()
        var group = IngestGroup()
        book.handle(presence(.foreground, 1), of: device, at: moment(1), into: &group)
        book.commit()
        book.handle(presence(.foreground, 2), of: device, at: moment(2), into: &group)
        book.startListening(at: moment(5000))
        book.commit()
        book.tick(at: moment(5074), into: &group)
        #expect(group.transitions.map(\.transition.to) == [.active])
        book.tick(at: moment(5075), into: &group)
        #expect(group.transitions.map(\.transition.to) == [.active, .background])
    }

    @Test("has the transitions of machines that are asked one by one at all times, through commits and rollbacks")
    func manyDevices() {
        let devices = (0..<20).map { DeviceAddress(group: device.group, device: DeviceID(unchecked: "d\($0)")) }
        var machines = Dictionary(uniqueKeysWithValues: devices.map { ($0, LifecycleMachine(at: moment(0))) })
        var book = newBook()
        var seconds = 0.0
        for _ in 0..<4000 {
            seconds += .random(in: 0...3)
            let now = moment(seconds)
            let speaker = devices[.random(in: 0..<20)]
            let event = [presence(.foreground, seconds), presence(.background, seconds), live(seconds)].randomElement()
            var group = IngestGroup()
            if let event { book.handle(event, of: speaker, at: now, into: &group) }
            book.tick(at: now, into: &group)
            guard Int.random(in: 0..<4) > 0 else {
                book.rollback()
                continue
            }
            book.commit()
            var expected: [DeviceTransition] = []
            for device in devices {
                for event in (device == speaker ? [event] : []).compactMap(\.self) + [.tick] {
                    if let change = machines[device]?.handle(event, at: now) {
                        expected.append(DeviceTransition(device: device, transition: change))
                    }
                }
            }
            #expect(Set(group.transitions) == Set(expected))
        }
    }
}
