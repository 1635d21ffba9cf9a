import LockstepModel
import LockstepWire
import Testing

@testable import LockstepAgent

@Suite("FleetPlan")
struct FleetPlanTests {
    private let run = Timestamp(microseconds: 1_800_000_000_000_000)

    private func plan(
        devices: Int = 7, streams: [SensorStream] = [.accelerometer, .steps], rate: Double = 10,
        window: Int64 = 1_000_000, backlog: Int64 = 3_000_000, seed: UInt64 = 1
    ) -> FleetPlan {
        FleetPlan(
            devices: devices, group: .standard, streams: streams, rate: rate, window: window, duration: 5_000_000,
            backlog: backlog, seed: seed, run: run)
    }

    @Test("every live batch has one turn, in order of time and evenly distributed over the window")
    func turns() {
        let plan = plan()
        var turns = plan.liveTurns
        var numbers = Array(repeating: [Int64](), count: plan.devices)
        var times: [Int64] = []
        while turns.turn < plan.liveBatches, let turn = turns.next(by: 5_000_000) {
            let (device, seq) = plan.liveBatch(turn: turn)
            numbers[device].append(seq)
            times.append(turns.time(ofTurn: turn))
            #expect(plan.completionTime(device: device, seq: seq) == turns.time(ofTurn: turn))
        }
        // Six batches of backlog precede those of two streams in five windows.
        #expect(numbers.allSatisfy { $0 == Array(7...16) })
        let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(gaps.allSatisfy { abs($0 - 1_000_000 / 14) <= 1 })
    }

    @Test("a turn is not taken before its time")
    func notBefore() {
        var turns = RoundRobin(count: 4, period: 1000)
        let taken = [turns.next(by: 0), turns.next(by: 249), turns.next(by: 250), turns.next(by: 499)]
        #expect(taken == [0, nil, 1, nil])
    }

    @Test("turns that were missed for longer than a period are skipped")
    func missedTurns() {
        var turns = RoundRobin(count: 3, period: 300)
        #expect(turns.takeDueItems(by: 199) == [0, 1])
        #expect(turns.takeDueItems(by: 5000).count == 3)
        #expect(turns.nextTime > 5000)
    }

    @Test(
        "each stream has samples at its rate without gaps, and none after the completion of its batch",
        arguments: [
            (10.0, 1_000_000), (3.3, 1_000_000), (0.4, 1_000_000), (100, 250_000), (1000.0 / 7, 700_001),
        ] as [(Double, Int64)])
    func samples(rate: Double, window: Int64) {
        let plan = plan(rate: rate, window: window)
        for device in 0..<plan.devices {
            for stream in 0..<2 {
                var last: Int64?
                for round in 0..<40 {
                    let seq = Int64(round * 2 + stream + 1)
                    let batch = plan.batch(device: device, seq: seq)
                    #expect(batch.samples.count == plan.sampleCount(seq))
                    #expect(!batch.samples.isEmpty && batch.samples.isComplete)
                    #expect(batch.isLive == !plan.isBacklog(seq))
                    let completion = plan.start.microseconds + plan.completionTime(device: device, seq: seq)
                    for time in batch.samples.times {
                        #expect(time <= completion)
                        if let last { #expect(abs(Double(time - last) - 1_000_000 / rate) <= 1) }
                        last = time
                    }
                }
            }
        }
    }

    @Test("equal plans and numbers give equal batches, and another seed or run gives other ones")
    func repeatable() throws {
        let first = plan()
        #expect(first.batch(device: 3, seq: 9) == plan().batch(device: 3, seq: 9))
        #expect(first.batch(device: 3, seq: 9).samples != first.batch(device: 4, seq: 9).samples)
        #expect(first.batch(device: 3, seq: 9).samples != plan(seed: 2).batch(device: 3, seq: 9).samples)
        let epochs = Set((0..<7).map(first.epoch) + (0..<7).map(plan(seed: 2).epoch))
        #expect(epochs.count == 14)
        let later = FleetPlan(
            devices: 7, group: .standard, streams: [.steps], rate: 1, window: 1, duration: 1, seed: 1, run: run + 1)
        #expect(later.epoch(0) != first.epoch(0))
    }

    @Test("the payloads of every stream can be decoded")
    func payloads() throws {
        let plan = plan(streams: SensorStream.builtIn)
        for seq in 1...Int64(plan.streams.count) {
            let (payload, stream) = plan.payload(device: 2, seq: seq, isLate: true)
            let decoded = try BatchJSON.decode(.init(payload), stream: stream)
            var sent = plan.batch(device: 2, seq: seq)
            sent.isLive = false
            #expect(decoded == sent)
        }
    }

    @Test("an address gives the index of its device, or nil")
    func addresses() {
        let plan = plan(devices: 12_000)
        for index in [0, 1, 9999, 11_999] { #expect(plan.index(of: plan.address(index)) == index) }
        #expect(plan.address(0).device.rawValue == "sim-00001")
        for name in ["sim-1", "sim-00000", "sim-12001", "sim-0001x", "walker"] {
            let address = DeviceAddress(group: .standard, device: DeviceID(unchecked: name))
            #expect(plan.index(of: address) == nil)
        }
    }
}
