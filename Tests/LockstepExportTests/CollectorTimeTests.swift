import LockstepExport
import LockstepModel
import LockstepStore
import Testing

@Suite("Collector time")
struct CollectorTimeTests {
    private static let hour: Int64 = 3_600_000_000
    private static let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one"))

    @Test("a range contains all of its rows, also after the device's clock was set back by a day", arguments: [14, 26])
    func setBack(hour: Int64) throws {
        // A day ahead for 24 hours, and then right for 24 hours: the device has had each time twice.
        let points = (0..<48).map { Self.point(at: $0 * Self.hour, offset: $0 < 24 ? 24 * Self.hour : 0) }
        let estimates = Estimates(points)
        let (from, to) = (Timestamp(microseconds: hour * Self.hour), Timestamp(microseconds: (hour + 1) * Self.hour))
        var all = try CollectorTime(of: [Self.device], from: nil, to: nil, in: estimates)
        var some = try CollectorTime(of: [Self.device], from: from, to: to, in: estimates)
        let range = some.deviceRange(of: Self.device)
        var count = 0
        for minute in stride(from: 24 * 60, to: 48 * 60, by: 10) {
            let row = SampleRow(
                device: Self.device, time: Timestamp(microseconds: Int64(minute) * 60_000_000), values: [])
            let converted = all.convert(row, columns: [])
            let expected = try #require(converted)
            guard expected.time >= from, expected.time < to else { continue }
            count += 1
            #expect(range.from.map { $0 <= row.time } ?? true)
            #expect(range.to.map { $0 > row.time } ?? true)
            let inRange = some.convert(row, columns: [])
            #expect(inRange?.time == expected.time)
        }
        #expect(count > 0)
    }

    @Test("the limits of a device's times include those before its clock lost its time")
    func limits() throws {
        // Right from hour 24 to 47, and then an hour after 1970 again.
        func point(_ time: Int64, _ offset: Int64, _ segment: Int64) -> ClockPoint {
            ClockPoint(
                collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: time * Self.hour),
                segment: Timestamp(microseconds: segment * Self.hour), offset: offset * Self.hour, skew: 0, bound: 1000,
                skewBound: 0)
        }
        let points = (24..<48).map { point($0, 0, 24) } + [point(1, -49, 1), point(2, -49, 1)]
        let clock = try CollectorTime(of: [Self.device], from: nil, to: nil, in: Estimates(points))
        let stored = Timestamp(microseconds: Self.hour)...Timestamp(microseconds: 47 * Self.hour)
        let limits = clock.limits(of: stored, of: Self.device)
        #expect(limits.lowerBound <= Timestamp(microseconds: 24 * Self.hour))
        #expect(limits.upperBound >= Timestamp(microseconds: 51 * Self.hour))
    }

    private static func point(at collectorTime: Int64, offset: Int64) -> ClockPoint {
        ClockPoint(
            collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: collectorTime + offset),
            segment: Timestamp(microseconds: offset == 0 ? 24 * hour : 0), offset: offset, skew: 0, bound: 1000,
            skewBound: 0)
    }
}

/// Estimates in memory, which are found as in a store.
private final class Estimates: ClockEstimateReading {
    private let points: [ClockPoint]

    init(_ points: [ClockPoint]) { self.points = points }

    func clockPoints(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, on timeLine: ClockTimeLine
    ) -> [ClockPoint] {
        func time(_ point: ClockPoint) -> Int64 {
            timeLine == .device ? point.time.microseconds : point.time.microseconds - point.offset
        }
        let first = from.map { $0.microseconds - 3_600_000_000 } ?? .min
        let last = to.map { $0.microseconds + 3_600_000_000 } ?? .max
        let before = points.map(time).filter { $0 < first }.max()
        let after = points.map(time).filter { $0 > last }.min()
        return points.filter { point in
            let time = time(point)
            return (time >= first && time <= last) || time == before || time == after
        }
    }

    func newestClocks() -> [(device: DeviceAddress, point: ClockPoint)] { [] }
}
