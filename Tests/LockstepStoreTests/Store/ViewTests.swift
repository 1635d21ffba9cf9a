import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Views", .temporaryFolder)
struct ViewTests {
    @Test("samples are shown with their values, and joined with devices")
    func samples() throws {
        let store = try newStore().store
        var steps = SampleBlock(stream: .steps)
        steps.append(time: time(2_000_000), values: [Double(start), 3, 2.5, .nan, .nan, 1.5])
        try store.write(received(acceleration([7])), received(steps))
        for _ in 0..<2 {
            #expect(
                try store.database.rows(
                    "SELECT device, accelerometer.* FROM accelerometer JOIN devices USING (device_id)")
                    == ["one|1|\(start + 7)|7.0|0.5|-1.0"])
            #expect(
                try store.database.rows(
                    "SELECT t, start, steps, distance, pace, typeof(distance), typeof(steps) FROM steps")
                    == ["\(start + 2_000_000)|\(start)|3|2.5|-|real|integer"])
            try store.mergeAll()
        }
    }

    @Test("devices are shown with their state and missing batches")
    func devices() throws {
        let store = try newStore().store
        try store.write(received(acceleration([1]), seq: 1), received(acceleration([5]), seq: 5))
        let change = LifecycleTransition(from: nil, to: .active, since: time(3), reason: "foreground", seq: 1)
        _ = try store.write(
            IngestGroup(
                transitions: [DeviceTransition(device: device("one"), transition: change)],
                lifecycles: [device("one"): LifecycleSnapshot(last: change)], seen: [device("two"): time(9)]))
        #expect(
            try store.database.rows("SELECT * FROM v_devices ORDER BY device") == [
                "lab|one|active|2023-11-14T22:13:20.000003Z|foreground|2023-11-14T22:13:21.000000Z"
                    + "|2023-11-14T22:13:21.000000Z|2023-11-14T22:13:20.000005Z|2|0|0|3|0",
                "lab|two|-|-|-|2023-11-14T22:13:20.000009Z|2023-11-14T22:13:20.000009Z|-|0|0|0|0|0",
            ])
    }

    @Test("gaps are shown between received or dropped batches, even if both overlap")
    func gaps() throws {
        let store = try newStore().store
        let batches = [3, 4, 6, 20].map { received(acceleration([$0]), seq: $0) }
        let dropped = DroppedBatches(device: device("one"), epoch: epoch("e"), ranges: [3...8, 12...13])
        let result = try store.write(IngestGroup(batches: batches, dropped: [dropped]))
        #expect(
            try store.database.rows("SELECT epoch, first, last, batches FROM v_gaps ORDER BY first")
                == ["e|1|2|2", "e|9|11|3", "e|14|19|6"])
        #expect(result.received.values.first?.gaps == [1...2, 9...11, 14...19])
    }
}
