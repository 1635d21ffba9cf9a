import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("The stamper")
struct SampleStamperTests {
    private let line = TimeLine(at: moment(boot: 0))

    @Test("converts boot times to the time line and keeps the values")
    func stamping() {
        var stamper = SampleStamper()
        let stamped = stamper.stamp(block([10, 20]), on: line)
        #expect(
            stamped
                == SampleBlock(
                    stream: .accelerometer, times: [start + 10, start + 20], columns: block([1, 2]).columns))
    }

    @Test("moves equal times apart by 1 µs, also across blocks")
    func ties() {
        var stamper = SampleStamper()
        #expect(stamper.stamp(block([10, 10, 10, 11, 20]), on: line).times.map { $0 - start } == [10, 11, 12, 13, 20])
        #expect(stamper.stamp(block([20, 5, 21, 30]), on: line).times.map { $0 - start } == [21, 22, 23, 30])
    }

    @Test("allows equal times in different streams")
    func streams() {
        var stamper = SampleStamper()
        #expect(stamper.stamp(block([10]), on: line).times == [start + 10])
        #expect(stamper.stamp(block([10], .gyroscope), on: line).times == [start + 10])
        #expect(stamper.stamp(block([10]), on: line).times == [start + 11])
    }

    @Test("accepts an empty block")
    func empty() {
        var stamper = SampleStamper()
        #expect(stamper.stamp(block([]), on: line).isEmpty)
        #expect(stamper.stamp(block([3]), on: line).times == [start + 3])
    }

    @Test("converts the column start of steps too")
    func stepStarts() {
        var stamper = SampleStamper()
        let unknown = Double.nan
        func row(_ from: Int64, _ to: Int64) -> SampleBlock {
            var block = SampleBlock(stream: .steps)
            block.append(
                time: Timestamp(microseconds: to), values: [Double(from), 3, unknown, unknown, unknown, unknown])
            return block
        }
        let first = stamper.stamp(row(1000, 2000), on: line)
        #expect(first.times == [start + 2000] && first.columns[0] == [Double(start + 1000)])
        #expect(first.columns[1] == [3])
        let next = stamper.stamp(row(2000, 3000), on: line)
        #expect(next.columns[0] == [Double(start + 2000)])
        // Intervals stay disjoint and non-empty even if the line has moved back.
        let earlier = TimeLine(at: moment(boot: 0, offset: -500))
        let slewed = stamper.stamp(row(3000, 4000), on: earlier)
        #expect(slewed.times == [start + 3500] && slewed.columns[0] == [Double(start + 3000)])
        let tie = stamper.stamp(row(3999, 3999), on: earlier)
        #expect(tie.times == [start + 3501] && tie.columns[0] == [Double(start + 3500)])
    }

    @Test("goes backward only in a new epoch")
    func epochs() {
        var stamper = SampleStamper()
        _ = stamper.stamp(block([1000]), on: line)
        #expect(stamper.stamp(block([5]), on: line).times == [start + 1001])
        stamper.startEpoch()
        #expect(stamper.stamp(block([5]), on: line).times == [start + 5])
    }
}

@Suite("The suspend detector")
struct SuspendDetectorTests {
    @Test("reports a suspend and its start")
    func suspend() {
        var detector = SuspendDetector(at: moment(boot: 0))
        #expect(detector.observe(moment(boot: 1_000_000)) == nil)
        #expect(detector.observe(moment(boot: 10_000_000, asleep: 8_000_000)) == 1_000_000)
        #expect(detector.observe(moment(boot: 11_000_000, asleep: 8_000_000)) == nil)
        #expect(detector.observe(moment(boot: 20_000_000, asleep: 9_000_000)) == 11_000_000)
    }

    @Test("ignores suspends below one second and long times awake")
    func short() {
        var detector = SuspendDetector(at: moment(boot: 0))
        #expect(detector.observe(moment(boot: 2_000_000, asleep: 999_999)) == nil)
        #expect(detector.observe(moment(boot: 3_600_000_000, asleep: 999_999)) == nil)
    }
}
