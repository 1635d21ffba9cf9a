import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Facts of devices", .temporaryFolder)
struct DeviceFactsTests {
    @Test(
        "overviews have the newest samples of a brute-force search, before, during and after merges", arguments: 1...3)
    func overviews(seed: UInt64) throws {
        var model = try HistoryModel(seed: seed)
        let reader = try StoreReader(path: model.store.path)
        for step in 0..<100 {
            try model.step()
            guard step % 10 == 0 else { continue }
            let overviews = try reader.overviews()
            #expect(overviews.map(\.device) == (try reader.devices()))
            let figures = overviews.map(\.device).map { device in
                "\(device.address.device)|\(device.samples)|\(device.duplicates)|\(device.conflicts)|"
                    + [device.firstSeen, device.lastSeen, device.lastSample]
                    .map { $0.map { "\($0.microseconds - start)" } ?? "-" }.joined(separator: "|")
            }
            #expect(
                figures.sorted()
                    == (try model.store.database.content(of: []).devices.split(separator: "\n").map(String.init)
                        .sorted()))
            for overview in overviews {
                let name = overview.device.address.device.rawValue
                // The stream with too many columns is not in the catalog of the store.
                for stream in RandomBatches.streams.dropLast() {
                    let newest = model.samples(name, stream, -1000..<10_000).last
                    #expect(overview.newest[stream.name].map { $0.microseconds - start } == newest?.time)
                    guard stream == .battery else { continue }
                    #expect(overview.battery.map { "\($0.values)" } == newest.map { "\($0.values)" })
                }
            }
        }
    }

    @Test("the position is the newest fix with a position, in the table or waiting")
    func position() throws {
        let (store, path) = try newStore()
        func fix(_ offset: Int64, _ latitude: Double) throws {
            var block = SampleBlock(stream: .location)
            block.append(time: time(offset), values: [latitude, 8] + Array(repeating: .nan, count: 7))
            try store.write(received(block))
        }
        let reader = try StoreReader(path: path)
        func position() throws -> Double? { try reader.overviews().first?.position?.values[0] }
        try fix(1, .nan)
        #expect(try position() == nil)
        try fix(2, 47)
        try fix(3, .nan)
        #expect(try position() == 47)
        try store.mergeAll()
        #expect(try position() == 47)
        try fix(4, .nan)
        #expect(try position() == 47)
        try fix(5, 48)
        #expect(try position() == 48)
        // Backlog is older than the position in the table.
        try store.mergeAll()
        try fix(0, 46)
        #expect(try position() == 48)
    }

    @Test("state, phase, gaps and dropped batches are in the overview of their device")
    func states() throws {
        let (store, path) = try newStore()
        let change = LifecycleTransition(from: .active, to: .background, since: time(5), reason: "silent", seq: 4)
        var group = IngestGroup(lifecycles: [device("b"): LifecycleSnapshot(last: change, session: 7, phase: .lost)])
        for seq in [1, 2, 5, 9] as [Int64] { group.append(received(acceleration([seq]), from: device("b"), seq: seq)) }
        group.append(received(acceleration([1]), from: device("a"), seq: 1))
        group.dropped = [DroppedBatches(device: device("b"), epoch: epoch("e"), ranges: [3...3])]
        try store.write(group)
        let overviews = try StoreReader(path: path).overviews()
        #expect(overviews.map(\.device.missing) == [0, 4])
        #expect(overviews.map(\.device.dropped) == [0, 1])
        #expect(overviews.map(\.device.transition) == [nil, change])
        #expect(overviews.map(\.device.phase) == [nil, .lost])
    }

    @Test("changes of the state are returned in order, and the newest ones within the limit")
    func transitions() throws {
        let (store, path) = try newStore()
        var changes: [LifecycleTransition] = []
        for number in 1...10 as ClosedRange<Int64> {
            let from: LifecycleState? = number == 1 ? nil : .active
            let to: LifecycleState = number % 2 == 0 ? .background : .active
            changes.append(
                LifecycleTransition(from: from, to: to, since: time(number * 10), reason: "r\(number)", seq: number))
        }
        var stored = changes.map { DeviceTransition(device: device("one"), transition: $0) }
        stored.append(DeviceTransition(device: device("two"), transition: changes[0]))
        _ = try store.write(IngestGroup(transitions: stored))
        let reader = try StoreReader(path: path)
        #expect(try reader.transitions(of: device("one")) == changes)
        #expect(try reader.transitions(of: device("one"), from: time(20), to: time(50)) == Array(changes[1...3]))
        #expect(try reader.transitions(of: device("one"), limit: 3) == changes.suffix(3))
        #expect(try reader.transitions(of: device("one"), to: time(50), limit: 2) == Array(changes[2...3]))
        #expect(try reader.transitions(of: device("two")).count == 1)
        #expect(try reader.transitions(of: device("three")).isEmpty)
    }

    @Test("a walk has the sums and newest values of its range, and unknown values are nil")
    func walk() throws {
        let (store, path) = try newStore()
        let reader = try StoreReader(path: path)
        #expect(try reader.walk(of: device("one")) == WalkSummary())
        var block = SampleBlock(stream: .steps)
        let second: Int64 = 1_000_000
        func add(_ from: Int64, _ to: Int64, _ steps: Double, _ distance: Double, _ pace: Double, _ cadence: Double) {
            block.append(
                time: time(to * second), values: [Double(start + from * second), steps, distance, pace, .nan, cadence])
        }
        add(0, 2, 3, .nan, .nan, 1.5)
        add(10, 14, 6, 5, 0.8, 1.75)
        add(14, 15, 2, 0, .nan, 2)
        add(15, 18, 4, 2, 1.5, .nan)
        try store.write(received(block))
        var floors = SampleBlock(stream: .floors)
        for (end, up, down) in [(12, 1, 0), (17, 1, 0), (18, 0, 1)] as [(Int64, Double, Double)] {
            floors.append(time: time(end * second), values: [Double(start + 9 * second), up, down])
        }
        try store.write(received(floors))
        for isMerged in [false, true] {
            if isMerged { try store.mergeAll() }
            #expect(
                try reader.walk(of: device("one"))
                    == WalkSummary(
                        steps: 15, distance: 7, averagePace: 1, pace: 1.5, cadence: nil, floorsAscended: 2,
                        floorsDescended: 1, newest: time(18 * second)))
            #expect(
                try reader.walk(of: device("one"), from: time(0), to: time(14 * second))
                    == WalkSummary(
                        steps: 3, cadence: 1.5, floorsAscended: 1, floorsDescended: 0, newest: time(2 * second)))
            #expect(try reader.walk(of: device("one"), from: time(20 * second)) == WalkSummary())
            #expect(try reader.walk(of: device("two")) == WalkSummary())
        }
    }

    @Test("health has the newest conflicts and rejected messages of the device only")
    func health() throws {
        let (store, path) = try newStore()
        try store.write(
            received(acceleration(1...9), seq: 1), received(acceleration([1]), from: device("one2"), seq: 1))
        for number in 1...4 as ClosedRange<Int64> {
            var batch = received(acceleration([number], z: 7), seq: number + 2)
            batch.receivedAt = time(2_000_000 + number)
            try store.write(batch)
        }
        let topics = [
            "lockstep/lab/one/steps", "lockstep/lab/one2/steps", "x/y/lab/one/steps", "lockstep/field/one/steps",
        ]
        _ = try store.write(
            IngestGroup(
                rejected: topics.enumerated().map { index, topic in
                    RejectedMessage(at: time(Int64(index)), topic: topic, reason: "\(index)", size: 3, head: [1, 2, 3])
                }))
        let health = try #require(try StoreReader(path: path).health(of: device("one"), limit: 3))
        #expect(health.device.conflicts == 4 && health.device.missing == 1 && health.device.samples == 9)
        #expect(health.device.firstSeen == time(1_000_000) && health.device.lastSeen == time(2_000_004))
        #expect(health.recentConflicts.map { $0.time.microseconds - start } == [4, 3, 2])
        #expect(health.recentConflicts.first?.stored == #"{"x":4.0,"y":0.5,"z":-1.0}"#)
        #expect(health.recentConflicts.first?.received == #"{"x":4.0,"y":0.5,"z":7.0}"#)
        #expect(health.recentConflicts.first?.stream == "motion/accelerometer")
        #expect(health.rejected == 2 && health.recentRejections.map(\.reason) == ["2", "0"])
        #expect(health.recentRejections.first?.head == [1, 2, 3])
        #expect(try StoreReader(path: path).health(of: device("two")) == nil)
    }
}
