import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("The simulated source")
struct SimulatedSourceTests {
    @Test("samples are at exact intervals on the boot clock and never in the future")
    func grid() async throws {
        let source = SimulatedSource(seed: 4)
        #expect(source.name == "simulate:4")
        let before = Moment.now().boot
        let seen = try await withRunning(source) { sink in
            #expect(await sink.wait { $0.samples(.accelerometer).count >= 40 && $0.samples(.location).count >= 1 })
            return sink.seen
        }
        let after = Moment.now().boot
        #expect(seen.statuses.first == .running)
        #expect(seen.clocks == [.boot])
        for stream in [SensorStream.accelerometer, .gyroscope, .magnetometer] {
            let times = seen.samples(stream).times
            // On a machine that stops the test for more than 10 s, the source skips samples but keeps the grid.
            let mayHaveSkipped = after - before > SimulationSchedule.maxDelay
            let intervals = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(
                intervals.allSatisfy { $0 == 10_000 || (mayHaveSkipped && $0 % 10_000 == 0) }, "\(intervals)")
            #expect(times.allSatisfy { (before...after).contains($0) })
        }
    }

    @Test("samples are delivered no more often than the linger allows")
    func linger() async throws {
        try await withRunning(SimulatedSource(linger: 500_000)) { sink in
            #expect(await sink.wait { $0.samples(.accelerometer).count >= 100 })
            // The first sample, then 50 samples per half second.
            #expect(sink.seen.blocks.count { $0.stream == .accelerometer } <= 3)
        }
    }

    @Test("sample times do not drift at any rate")
    func otherRate() {
        var schedule = SimulationSchedule(body: WalkingBody(seed: 1), rate: 30, start: 500)
        let times = schedule.take(through: 8_000_500)[0].times
        #expect(times.count == 241)
        #expect(times.prefix(4) == [500, 33_833, 67_167, 100_500])
        #expect(times.last == 8_000_500)
    }

    @Test("after a long pause only samples of the last ten seconds are delivered, at the same intervals")
    func skipsAhead() {
        var schedule = SimulationSchedule(body: WalkingBody(seed: 1), rate: 100, start: 0)
        _ = schedule.take(through: 1_000_000)
        let now: Int64 = 3_600_005_000
        let blocks = schedule.take(through: now)
        for block in blocks { #expect(block.times.allSatisfy { $0 >= now - 10_000_000 && $0 <= now }) }
        #expect(blocks[0].times.first == 3_590_010_000)
        #expect(blocks[0].times.last == 3_600_000_000)
        let again = schedule.take(through: now)
        #expect(again.isEmpty)
        let next = schedule.take(through: now + 10_000)
        #expect(next[0].times == [3_600_010_000])
    }

    @Test("nothing is delivered before the start")
    func beforeStart() {
        var schedule = SimulationSchedule(body: WalkingBody(seed: 1), rate: 100, start: 1000)
        let early = schedule.take(through: 999)
        let first = schedule.take(through: 1000)
        #expect(early.isEmpty)
        #expect(first.map(\.count) == [1, 1, 1, 1, 1, 1])
    }
}
