import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Stored life cycle", .temporaryFolder)
struct LifecycleTests {
    @Test("the life cycle of every device is restored when the store is reopened")
    func snapshots() throws {
        let change = LifecycleTransition(from: .active, to: .background, since: time(5), reason: "silent", seq: 4)
        let snapshots = [
            device("one"): LifecycleSnapshot(
                last: change, epoch: Epoch(unchecked: "e1"), session: 7, phase: .lost, evidenceTime: time(3)),
            device("two"): LifecycleSnapshot(
                last: LifecycleTransition(from: nil, to: .active, since: time(1), reason: "live-sample", seq: 1)),
            device("three"): LifecycleSnapshot(),
        ]
        let folder = TemporaryFolder.path
        _ = try SQLiteStore(path: folder + "/store").write(IngestGroup(lifecycles: snapshots))
        let store = try SQLiteStore(path: folder + "/store")
        #expect(try store.lifecycles() == snapshots)
        _ = try store.write(IngestGroup(lifecycles: [device("one"): LifecycleSnapshot(session: 8)]))
        #expect(try store.lifecycles()[device("one")] == LifecycleSnapshot(session: 8))
    }

    @Test("a device that is forgotten stays so when the store is reopened, keeps its samples, and can be known again")
    func forgotten() throws {
        let path = TemporaryFolder.path + "/store"
        let last = LifecycleTransition(from: nil, to: .terminated, since: time(5), reason: "stop", seq: 1)
        var snapshot = LifecycleSnapshot(last: last, session: 7, evidenceTime: time(3), isForgotten: true)
        _ = try SQLiteStore(path: path).write(IngestGroup(lifecycles: [device("one"): snapshot]))
        let store = try SQLiteStore(path: path)
        #expect(try store.lifecycles() == [device("one"): snapshot])
        let reader = try StoreReader(path: path)
        #expect(try reader.devices().map(\.isForgotten) == [true])
        #expect(try reader.overviews().first?.device.isForgotten == true)
        #expect(try store.deviceIDs().isEmpty, "rules are not about it")
        snapshot.isForgotten = false
        _ = try store.write(IngestGroup(lifecycles: [device("one"): snapshot]))
        #expect(try reader.devices().map(\.isForgotten) == [false])
    }

    @Test("a snapshot without an epoch is restored")
    func withoutEpoch() throws {
        let path = TemporaryFolder.path + "/store"
        let change = LifecycleTransition(from: nil, to: .active, since: time(5), reason: "foreground", seq: 1)
        let snapshot = LifecycleSnapshot(last: change, session: 7, phase: .foreground, evidenceTime: time(3))
        _ = try SQLiteStore(path: path).write(IngestGroup(lifecycles: [device("one"): snapshot]))
        #expect(try SQLiteStore(path: path).lifecycles() == [device("one"): snapshot])
    }

    @Test("a transition written twice is stored once")
    func history() throws {
        let store = try newStore().store
        let changes = [
            LifecycleTransition(from: nil, to: .active, since: time(1), reason: "foreground", seq: 1),
            LifecycleTransition(from: .active, to: .terminated, since: time(2), reason: "terminated", seq: 2),
        ].map { DeviceTransition(device: device("one"), transition: $0) }
        _ = try store.write(IngestGroup(transitions: changes))
        _ = try store.write(IngestGroup(transitions: changes))
        #expect(
            try store.database.rows("SELECT seq, previous, state, reason FROM states ORDER BY seq")
                == ["1|-|active|foreground", "2|active|terminated|terminated"])
    }

    private static let changes = [
        LifecycleTransition(from: nil, to: .active, since: time(1), reason: "foreground", seq: 1),
        LifecycleTransition(from: .active, to: .background, since: time(2), reason: "silent", seq: 2),
        LifecycleTransition(from: .background, to: .resumed, since: time(3), reason: "live-sample", seq: 3),
    ]

    /// Returns a group with transitions and the snapshot after the last one.
    private static func group(_ changes: some Sequence<LifecycleTransition>) -> IngestGroup {
        var group = IngestGroup(
            transitions: changes.map { DeviceTransition(device: device("one"), transition: $0) })
        for change in changes { group.lifecycles[device("one")] = LifecycleSnapshot(last: change) }
        return group
    }

    @Test(
        "transitions are shown once, however they are divided into groups and transactions",
        arguments: [
            [[1], [1], [1]], [[1], [2]], [[2], [1]], [[1, 1], [1]], [[1], [1, 1]], [[1, 1, 1]], [[2, 1]], [[1, 2]],
            [[3]],
        ])
    func divided(transactions: [[Int]]) throws {
        let store = try newStore().store
        var next = 0
        for groups in transactions {
            // The second time, it was unknown whether the first commit succeeded.
            for attempt in 1...3 {
                var end = next
                for count in groups {
                    try store.add(Self.group(Self.changes[end..<end + count]))
                    end += count
                }
                guard attempt > 1 else {
                    store.rollBack()
                    continue
                }
                _ = try store.commit()
                let stored = try StoreReader(path: store.path).transitions(of: device("one"))
                #expect(stored == Array(Self.changes.prefix(end)))
            }
            next += groups.reduce(0, +)
        }
        #expect(try store.lifecycles()[device("one")]?.last == Self.changes.last)
    }

    @Test("a changed transition replaces the one with its number")
    func first() throws {
        let store = try newStore().store
        _ = try store.write(Self.group(Self.changes.prefix(1)))
        let other = LifecycleTransition(from: nil, to: .terminated, since: time(4), reason: "end", seq: 1)
        _ = try store.write(Self.group([other]))
        #expect(try StoreReader(path: store.path).transitions(of: device("one")) == [other])
        _ = try store.write(IngestGroup(lifecycles: [device("one"): LifecycleSnapshot(session: 8)]))
        #expect(try StoreReader(path: store.path).transitions(of: device("one")) == [other])
    }
}
