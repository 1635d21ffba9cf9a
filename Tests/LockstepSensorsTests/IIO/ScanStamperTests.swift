import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Timestamps of IIO scans")
struct ScanStamperTests {
    private let second: Int64 = 1_000_000_000

    @Test("boot clock times are unchanged")
    func boot() {
        var stamper = ScanStamper(clock: .boot, startedAt: 0)
        let stamps = stamper.stamp(own: [9 * second, 9 * second + 1500], count: 2, at: moment(boot: 9_100_000))
        #expect(stamps == [.time(9_000_000), .time(9_000_001)])
        #expect(stamper.note == nil)
    }

    @Test("the duration of a suspend is added to monotonic times")
    func monotonic() {
        var stamper = ScanStamper(clock: .awake, startedAt: 0)
        let stamps = stamper.stamp(own: [9 * second], count: 1, at: moment(boot: 14_100_000, asleep: 5_000_000))
        #expect(stamps == [.time(14_000_000)])
    }

    @Test(
        "only clocks that are never stepped are used",
        arguments: [("boottime", true), ("monotonic", true), ("realtime", false), ("tai", false), ("", false)])
    func clocks(name: String, isUsed: Bool) {
        let stamper = ScanStamper(clock: .init(named: name), startedAt: 0)
        #expect((stamper.note == nil) == isUsed)
        if !isUsed {
            #expect(stamper.note == "stamped on arrival, because the clock '\(name)' can be stepped")
        }
    }

    @Test("scans without timestamps are spread over the time since the last one")
    func arrival() {
        var stamper = ScanStamper(clock: .arrival("reason"), startedAt: 1000)
        let first = stamper.stamp(own: nil, count: 4, at: moment(boot: 1400))
        #expect(first == [.time(1100), .time(1200), .time(1300), .time(1400)])
        let next = stamper.stamp(own: [5, 6], count: 2, at: moment(boot: 1500))
        #expect(next == [.time(1450), .time(1500)])
        let tight = stamper.stamp(own: nil, count: 3, at: moment(boot: 1501))
        #expect(tight == [.time(1501), .time(1502), .time(1503)])
    }

    @Test("scans after a pause are not spread over the pause")
    func pause() {
        var stamper = ScanStamper(clock: .arrival("reason"), startedAt: 0, rate: 100)
        let first = stamper.stamp(own: nil, count: 2, at: moment(boot: 1_000_000))
        #expect(first == [.time(980_000), .time(1_000_000)])
        let next = stamper.stamp(own: nil, count: 2, at: moment(boot: 1_030_000))
        #expect(next == [.time(1_015_000), .time(1_030_000)])
    }

    @Test("a scan that is not later than the previous one is dropped")
    func backward() {
        var stamper = ScanStamper(clock: .boot, startedAt: 0)
        let stamps = stamper.stamp(
            own: [9 * second, 9 * second, 8 * second, 9 * second + 1_000_000], count: 4, at: moment(boot: 9_100_000))
        #expect(stamps == [.time(9_000_000), .dropped, .dropped, .time(9_001_000)])
        #expect(stamper.note == nil)
    }

    @Test("after ten timestamps that go backward, scans are stamped on arrival and not dropped any more")
    func givenUp() {
        var stamper = ScanStamper(clock: .boot, startedAt: 0)
        _ = stamper.stamp(own: [9 * second], count: 1, at: moment(boot: 9_000_000))
        let stamps = stamper.stamp(
            own: Array(repeating: 8 * second, count: 12), count: 12, at: moment(boot: 9_100_000))
        #expect(stamps.prefix(10).allSatisfy { $0 == .dropped })
        #expect(stamps.suffix(2) == [.time(9_050_000), .time(9_100_000)])
        #expect(stamper.note == "stamped on arrival, because the sensor's timestamps go backward")
    }

    @Test("no scan is dropped if the trigger provides no timestamps")
    func noTimes() {
        var stamper = ScanStamper(clock: .boot, startedAt: 0)
        let stamps = stamper.stamp(own: [0, 0], count: 2, at: moment(boot: 100))
        #expect(stamps == [.time(50), .time(100)])
        #expect(stamper.note == nil)
        let next = stamper.stamp(own: [0], count: 1, at: moment(boot: 150))
        #expect(next == [.time(150)])
        #expect(stamper.note == "stamped on arrival, because the trigger provides no timestamps")
    }

    @Test("only the scan without timestamp is dropped if a single one is missing")
    func missingTime() {
        var stamper = ScanStamper(clock: .boot, startedAt: 0)
        for number in 1...5 {
            let stamps = stamper.stamp(
                own: [Int64(number) * second, 0], count: 2, at: moment(boot: Int64(number) * 1_000_000))
            #expect(stamps == [.time(Int64(number) * 1_000_000), .dropped])
        }
        let stamps = stamper.stamp(own: [0, 10 * second], count: 2, at: moment(boot: 10_000_000))
        #expect(stamps == [.dropped, .time(10_000_000)])
        #expect(stamper.note == nil)
    }

    @Test("scans with timestamps of another clock are stamped on arrival")
    func implausible() {
        var stamper = ScanStamper(clock: .boot, startedAt: 99_000_000)
        _ = stamper.stamp(own: Array(repeating: 1, count: 10), count: 10, at: moment(boot: 100_000_000))
        #expect(stamper.note == "stamped on arrival, because the sensor's timestamps are 100 s off")
    }

    @Test("no scan is dropped if the first scans all have times of another clock")
    func ownClock() {
        var stamper = ScanStamper(clock: .boot, startedAt: 99_000_000)
        let stamps = stamper.stamp(own: [second, second + 10_000_000], count: 2, at: moment(boot: 99_020_000))
        #expect(stamps == [.time(99_010_000), .time(99_020_000)])
        #expect(stamper.note == "stamped on arrival, because the sensor's timestamps are 98 s off")
    }

    @Test("timestamps that do not advance are recognised in the first scans, and after three single ones")
    func standing() {
        let note = "stamped on arrival, because the sensor's timestamps do not advance"
        var together = ScanStamper(clock: .boot, startedAt: 8_960_000)
        let stamps = together.stamp(own: [9 * second, 9 * second], count: 2, at: moment(boot: 9_000_000))
        #expect(stamps == [.time(8_980_000), .time(9_000_000)])
        #expect(together.note == note)
        var single = ScanStamper(clock: .boot, startedAt: 8_900_000)
        let all = (0..<5).flatMap { single.stamp(own: [9 * second], count: 1, at: moment(boot: 9_000_000 + $0 * 1000)) }
        #expect(all == [.time(9_000_000), .dropped, .dropped, .dropped, .time(9_004_000)])
        #expect(single.note == note)
    }

    @Test("scans that waited during a suspend keep their own times")
    func suspended() {
        var stamper = ScanStamper(clock: .boot, startedAt: 9_000_000)
        let times = (1...12).map { 9_000_000 + Int64($0) * 10_000 } + [3_609_000_000]
        let stamps = stamper.stamp(own: times.map { $0 * 1000 }, count: 13, at: moment(boot: 3_609_010_000))
        #expect(stamps == times.map { .time($0) })
        #expect(stamper.note == nil)
    }

    @Test("a scan from before the start of the buffer is dropped")
    func older() {
        var stamper = ScanStamper(clock: .boot, startedAt: 9_000_000)
        let stamps = stamper.stamp(own: [7 * second, 9 * second], count: 2, at: moment(boot: 9_100_000))
        #expect(stamps == [.dropped, .time(9_000_000)])
    }

    @Test("the duration of a suspend is added only to later monotonic times")
    func monotonicSuspend() {
        var stamper = ScanStamper(clock: .awake, startedAt: 8_900_000)
        let first = stamper.stamp(own: [9 * second], count: 1, at: moment(boot: 9_020_000))
        #expect(first == [.time(9_000_000)])
        let next = stamper.stamp(
            own: [9_010_000_000, 9_030_000_000], count: 2, at: moment(boot: 1_009_040_000, asleep: 1_000_000_000))
        #expect(next == [.time(9_010_000), .time(1_009_030_000)])
    }
}
