import LockstepModel
import Testing

@Suite("The clock map")
struct ClockMapTests {
    private func point(
        _ time: Int64, segment: Int64 = 0, offset: Int64, skew: Int64 = 0, bound: Int64 = 10, skewBound: Int64 = 0
    ) -> ClockPoint {
        ClockPoint(
            collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: time),
            segment: Timestamp(microseconds: segment), offset: offset, skew: skew, bound: bound, skewBound: skewBound)
    }

    private func time(_ microseconds: Int64) -> Timestamp { Timestamp(microseconds: microseconds) }

    @Test("has no conversion without estimates") func empty() { #expect(ClockMap([]) == nil) }

    @Test("is linear between two estimates")
    func linear() throws {
        let map = try #require(ClockMap([point(2_000_000, offset: 300, bound: 30), point(1_000_000, offset: 100)]))
        #expect(map.convert(time(1_000_000)) == .init(time: time(999_900), bound: 10))
        let middle = map.convert(time(1_500_000))
        #expect(middle.time == time(1_499_800))
        #expect((20...21).contains(middle.bound))
    }

    @Test("extrapolates with the skew, and the bound grows")
    func extrapolation() throws {
        let map = try #require(ClockMap([point(10_000_000, offset: 100, skew: 50_000, skewBound: 2000)]))
        let later = map.convert(time(14_000_000))
        #expect(later.time == time(14_000_000 - 300))
        #expect((18...19).contains(later.bound))
        #expect(map.convert(time(6_000_000)).time == time(6_000_000 + 100))
    }

    @Test("uses the segment that contains the time, and otherwise the nearest one")
    func segments() throws {
        let map = try #require(
            ClockMap([
                point(0, segment: 0, offset: 0), point(100, segment: 0, offset: 0),
                point(1000, segment: 1000, offset: 500), point(2000, segment: 1000, offset: 500),
            ]))
        #expect(map.convert(time(90)).time == time(90))
        #expect(map.convert(time(300)).time == time(300))
        #expect(map.convert(time(900)).time == time(400))
        #expect(map.convert(time(1500)).time == time(1000))
        #expect(map.convert(time(90)).bound <= 11 && map.convert(time(1500)).bound <= 11)
        #expect(map.convert(time(-50)).bound <= 11 && map.convert(time(2050)).bound <= 11)
    }

    @Test("conversions only decrease at turns")
    func turns() throws {
        let map = try #require(
            ClockMap([
                point(0, segment: 0, offset: 0), point(100, segment: 0, offset: 0),
                point(1001, segment: 1001, offset: 500), point(2000, segment: 1001, offset: 500),
                point(1500, segment: 1500, offset: 900), point(2500, segment: 1500, offset: 900),
            ]))
        let decreases = (-100..<3000).filter { map.convert(time($0)).time < map.convert(time($0 - 1)).time }
        #expect(decreases == [551, 1500, 2001])
        #expect(Set(decreases.map(time)).isSubset(of: map.turns) && map.turns == map.turns.sorted())
    }

    @Test(
        "between two segments the bound covers both, because the step may have been at any time",
        arguments: [-700, 0, 700])
    func gap(step: Int64) throws {
        let map = try #require(
            ClockMap([
                point(0, segment: 0, offset: 100), point(100, segment: 0, offset: 100),
                point(1000, segment: 1000, offset: 100 + step), point(2000, segment: 1000, offset: 100 + step),
                point(5000, segment: 5000, offset: 9000),
            ]))
        var monotonic = MonotonicClockMap(map)
        var last = Timestamp(microseconds: .min)
        for step in [0, step] {
            for device in stride(from: Int64(101), to: 1000, by: 50) {
                let truth = device - 100 - step
                let result = map.convert(time(device))
                #expect(abs(result.time.microseconds - truth) <= result.bound)
            }
        }
        for device in stride(from: Int64(0), to: 2000, by: 50) {
            let result = monotonic.convert(time(device))
            #expect(result.time > last)
            last = result.time
            for step in device <= 100 ? [0] : device < 1000 ? [0, step] : [step] {
                #expect(abs(result.time.microseconds - (device - 100 - step)) <= result.bound)
            }
        }
        #expect(map.convert(time(500)).bound <= abs(step) + 12, "and no further ones")
    }

    @Test("covers both possibilities when a time belongs to two segments", arguments: [-1000, 1000])
    func overlap(offset: Int64) throws {
        let map = try #require(
            ClockMap([
                point(0, segment: 0, offset: 0), point(2000, segment: 0, offset: 0),
                point(1000, segment: 1000, offset: offset), point(3000, segment: 1000, offset: offset),
            ]))
        let result = map.convert(time(1500))
        #expect(result.time == time(1500 - offset / 2))
        #expect(result.bound >= 510)
    }

    @Test("increases even where segments overlap on the collector's clock")
    func monotonic() throws {
        let map = try #require(
            ClockMap([
                point(0, segment: 0, offset: 0), point(1000, segment: 0, offset: 0),
                point(1001, segment: 1001, offset: 500), point(3000, segment: 1001, offset: 500),
            ]))
        var monotonic = MonotonicClockMap(map)
        var last = Timestamp(microseconds: -1)
        for step in Int64(0)..<30 {
            let result = monotonic.convert(time(step * 100))
            #expect(result.time > last)
            let direct = map.convert(time(step * 100))
            #expect(abs(result.time - direct.time) + direct.bound <= result.bound)
            last = result.time
        }
    }

    @Test("keeps every true time within its bound")
    func truth() throws {
        var path = SimulatedPath(seed: 21)
        path.drift = 60
        path.wander = (8, 2000)
        path.delay = (4000, 1000)
        path.jitter = 500
        var device = SimulatedDevice(path)
        device.run(seconds: 3000)
        let map = try #require(ClockMap(device.points))
        var monotonic = MonotonicClockMap(map)
        for step in 20..<29_000 {
            let truth = Double(step) * 100_000
            let line = Int64((path.oscillator(truth) + Double(path.deviceWall)).rounded())
            let result = monotonic.convert(Timestamp(microseconds: line))
            let error = abs(Double(line - result.time.microseconds) - path.offset(truth))
            #expect(error <= Double(result.bound) + 1)
        }
    }
}
