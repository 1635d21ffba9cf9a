import Glibc
import LockstepModel
import Testing

@Suite("The clock filter")
struct ClockFilterTests {
    @Test("gives offset and bound of one probe")
    func single() throws {
        var filter = ClockFilter()
        #expect(filter.isEmpty)
        filter.add([ClockProbe(sent: 1000, received: 5100, answered: 5200, returned: 1500)])
        let estimate = try #require(filter.estimate(at: 1500))
        // The offset is between 1000 − 5100 and 1500 − 5200, each widened by 1 µs and by the skew during the probe.
        #expect(abs(estimate.offset - -3900) < 1)
        #expect(estimate.bound >= 201 && estimate.bound < 202)
        #expect(abs(estimate.skewBound - ClockFilter.maxSkew) < 1e-6)
    }

    @Test("ignores times that no exchange can have")
    func implausible() {
        var filter = ClockFilter()
        filter.add([ClockProbe(sent: 1000, received: 5100, answered: 5000, returned: 1500)])
        filter.add([ClockProbe(sent: 1000, received: 5100, answered: 5700, returned: 1500)])
        filter.add([ClockProbe(sent: 2000, received: 5100, answered: 5100, returned: 1500)])
        #expect(filter.isEmpty)
        #expect(filter.estimate(at: 0) == nil)
    }

    @Test("starts again with probes that contradict the earlier ones")
    func contradiction() throws {
        var filter = ClockFilter()
        let isConsistent = filter.add([ClockProbe(sent: 0, received: 0, answered: 0, returned: 200)])
        #expect(isConsistent)
        // One second later the offset is 50 ms, which no drift explains.
        let probe = ClockProbe(sent: 1_050_000, received: 1_000_000, answered: 1_000_000, returned: 1_050_200)
        let isStillConsistent = filter.add([probe])
        #expect(!isStillConsistent)
        let estimate = try #require(filter.estimate(at: 1_050_200))
        #expect(abs(estimate.offset - 50_100) < 2)
    }

    @Test("learns the skew, and its bound grows with the age")
    func skew() throws {
        var filter = ClockFilter()
        for second in Int64(0)..<120 where second % 10 == 0 {
            let truth = second * 1_000_000
            let device = truth + second * 80
            filter.add([ClockProbe(sent: device, received: truth + 100, answered: truth + 100, returned: device + 200)])
        }
        let now: Int64 = 110_000_000 + 110 * 80
        let estimate = try #require(filter.estimate(at: now))
        #expect(abs(estimate.skew - 80) <= estimate.skewBound)
        #expect(estimate.skewBound < 10)
        #expect(abs(estimate.offset - 8800) <= estimate.bound)
        let later = try #require(filter.estimate(at: now + 30_000_000))
        #expect(later.bound > estimate.bound)
        #expect(abs(later.offset - (8800 + 30 * 80)) <= later.bound)
    }

    @Test("the bound holds in many probes with drift, asymmetry, jitter and loss")
    func manyProbes() throws {
        var probes = 0
        var violations = 0
        var seed: UInt64 = 1
        let count = getenv("LOCKSTEP_EMULATED") == nil ? 300_000 : 40_000
        while probes < count {
            var path = SimulatedPath(seed: seed)
            let kind = Double(seed % 10)
            path.drift = -100 + 22 * kind
            path.collectorDrift = seed % 2 == 0 ? 100 : -40
            path.delay = (200 + 5000 * kind, seed % 3 == 0 ? 51_000 : 1200)
            path.jitter = [0, 100, 2000, 20_000][Int(seed % 4)]
            path.loss = seed % 5 == 0 ? 0.05 : 0
            path.wander = (Double(seed % 6), 1800)
            var filter = ClockFilter()
            var time = 0.0
            for _ in 0..<500 {
                var wave: [ClockProbe] = []
                for _ in 0..<8 {
                    probes += 1
                    time += 60_000
                    guard let times = path.exchange(time) else { continue }
                    wave.append(
                        ClockProbe(
                            sent: path.reading(time).raw, received: path.collectorRaw(times.received),
                            answered: path.collectorRaw(times.answered), returned: path.reading(times.returned).raw))
                }
                let isConsistent = filter.add(wave)
                #expect(isConsistent)
                // Some estimates are used when they are old.
                time += 10_000_000 + 20_000_000 * path.generator.unit()
                guard let estimate = filter.estimate(at: path.reading(time).raw) else { continue }
                let truth = path.offset(time) - Double(path.deviceWall - path.collectorWall)
                if abs(estimate.offset - truth) > estimate.bound + 1 { violations += 1 }
            }
            seed += 1
        }
        #expect(violations == 0)
    }
}
