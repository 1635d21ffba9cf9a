import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("The time line")
struct TimeLineTests {
    @Test("follows a steady wall clock to the microsecond")
    func steady() {
        var line = TimeLine(at: moment(boot: 5_000_000))
        for second in 6...100 as ClosedRange<Int64> {
            #expect(line.observe(moment(boot: second * 1_000_000)) == .steady)
            #expect(line.timestamp(boot: second * 1_000_000 + 7).microseconds == start + second * 1_000_000 + 7)
        }
    }

    @Test("ignores a difference of up to 200 µs", arguments: [200, -200, 1, -1] as [Int64])
    func deadBand(_ offset: Int64) {
        var line = TimeLine(at: moment(boot: 0))
        for second in 1...50 as ClosedRange<Int64> {
            #expect(line.observe(moment(boot: second * 1_000_000, offset: offset)) == .steady)
            #expect(line.timestamp(boot: 0).microseconds == start)
        }
    }

    @Test(
        "slews a larger difference by 1 µs per ms until it is corrected",
        arguments: [201, -201, 10_000, -10_000, 400_000] as [Int64])
    func slewing(_ offset: Int64) {
        var line = TimeLine(at: moment(boot: 0))
        for second in 1...450 as ClosedRange<Int64> {
            #expect(line.observe(moment(boot: second * 1_000_000, offset: offset)) == .steady)
            let gone = min(abs(offset), second * 1000) * offset.signum()
            #expect(line.timestamp(boot: 0).microseconds == start + gone)
        }
    }

    @Test(
        "slews within its rate and corrects the whole difference, however often it is observed",
        arguments: [100, 999, 1000, 1500, 33_333, 5_000_000] as [Int64])
    func frequency(_ interval: Int64) {
        var line = TimeLine(at: moment(boot: 0))
        var boot: Int64 = 0
        let offset: Int64 = 3000
        var corrected: Int64 = 0
        while boot < 20_000_000 {
            boot += interval
            #expect(line.observe(moment(boot: boot, offset: offset)) == .steady)
            corrected = line.timestamp(boot: 0).microseconds - start
            guard corrected <= boot / 1000, corrected <= offset else {
                Issue.record("\(corrected) µs after \(boot) µs")
                return
            }
        }
        #expect(corrected == offset)
    }

    @Test(
        "follows a step of more than half a second at once and reports its size",
        arguments: [500_001, -500_001, 3_600_000_000] as [Int64])
    func steps(_ offset: Int64) {
        var line = TimeLine(at: moment(boot: 0))
        #expect(line.observe(moment(boot: 1_000_000, offset: offset)) == .stepped(by: offset))
        #expect(line.timestamp(boot: 2_000_000).microseconds == start + 2_000_000 + offset)
        #expect(line.observe(moment(boot: 3_000_000, offset: offset)) == .steady)
    }

    @Test("does not treat half a second as a step", arguments: [500_000, -500_000] as [Int64])
    func threshold(_ offset: Int64) {
        var line = TimeLine(at: moment(boot: 0))
        #expect(line.observe(moment(boot: 1_000_000, offset: offset)) == .steady)
    }

    @Test("continues between observations and after two observations at the same time")
    func noTime() {
        var line = TimeLine(at: moment(boot: 0))
        for _ in 0..<100 { #expect(line.observe(moment(boot: 0, offset: 5000)) == .steady) }
        #expect(line.timestamp(boot: 0).microseconds == start)
        _ = line.observe(moment(boot: 1_000_000, offset: 5000))
        #expect(line.timestamp(boot: 0).microseconds == start + 1000)
    }

    @Test("never goes backward between observations and yields strictly increasing timestamps")
    func randomCorrections() {
        var (random, seed) = seeded("time line")
        for _ in 0..<50 {
            var line = TimeLine(at: moment(boot: 0))
            var stamper = SampleStamper()
            var boot: Int64 = 0
            var offset: Int64 = 0
            var newest = Timestamp(microseconds: .min)
            var newestSample: Int64 = .min
            for _ in 0..<200 {
                let from = boot
                boot += .random(in: 2...3_000_000, using: &random)
                if random.next() % UInt64(3) == 0 { offset = .random(in: -240_000...240_000, using: &random) }
                #expect(line.observe(moment(boot: boot, offset: offset)) == .steady, "seed \(seed)")
                #expect(line.timestamp(boot: boot) > newest, "seed \(seed)")
                newest = line.timestamp(boot: boot)
                let times = (0..<20).map { _ in Int64.random(in: from...boot, using: &random) }.sorted()
                for time in stamper.stamp(block(times), on: line).times {
                    #expect(time > newestSample, "seed \(seed)")
                    newestSample = time
                }
            }
        }
    }
}
