import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("Fix assembler")
struct FixAssemblerTests {
    private func report(_ second: Int64?, mode: Int = 3, latitude: Double? = 48) -> PositionReport {
        var report = PositionReport(time: second.map { Timestamp(microseconds: $0 * 1_000_000) }, mode: mode)
        report.latitude = latitude
        report.longitude = latitude.map { _ in 11 }
        return report
    }

    @Test("reports with the same time form one fix with all known values")
    func repeatsMerge() {
        var assembler = FixAssembler()
        var first = report(5, mode: 2)
        first.speed = 1
        var second = report(5, mode: 3, latitude: 49)
        second.altitude = 500
        second.speed = 2
        #expect(take(&assembler, first, 0).isEmpty)
        #expect(take(&assembler, second, 100).isEmpty)
        var merged = first
        merged.mode = 3
        merged.altitude = 500
        #expect(take(&assembler, report(6), 1_000_000) == [.fix(merged, arrived: 0)])
        #expect(take(&assembler, first, 1_000_001).isEmpty)
    }

    @Test("a fix is delivered at the deadline after its last report, and later repetitions are ignored")
    func deadline() {
        var assembler = FixAssembler()
        _ = assembler.receive(report(5), at: 0)
        #expect(assembler.nextDeadline == 300_000)
        _ = assembler.receive(report(5), at: 200_000)
        #expect(assembler.nextDeadline == 500_000)
        #expect(advance(&assembler, 499_999).isEmpty)
        #expect(advance(&assembler, 500_000) == [.fix(report(5), arrived: 0)])
        #expect(take(&assembler, report(5), 600_000).isEmpty)
        #expect(advance(&assembler, 2_000_000).isEmpty)
    }

    @Test("a report without fix does not cancel a fix with the same time, in either order")
    func noFixOfSameTime() {
        for reports in [
            [report(5), report(5, mode: 1, latitude: nil)], [report(5, mode: 1, latitude: nil), report(5)],
        ] {
            var assembler = FixAssembler()
            for report in reports { _ = assembler.receive(report, at: 0) }
            #expect(advance(&assembler, 300_000) == [.fix(report(5), arrived: 0)])
        }
    }

    @Test("a position before its time belongs to the same fix; without a time it is a separate fix")
    func placeBeforeTime() {
        var assembler = FixAssembler()
        var place = report(nil, latitude: 49)
        place.altitude = 500
        var timed = report(5)
        _ = assembler.receive(place, at: 0)
        _ = assembler.receive(timed, at: 100_000)
        timed.altitude = 500
        #expect(advance(&assembler, 400_000) == [.fix(timed, arrived: 0)])
        _ = assembler.receive(place, at: 1_000_000)
        #expect(take(&assembler, report(6), 1_300_000) == [.fix(place, arrived: 1_000_000)])
    }

    @Test("a missing fix is reported once per loss")
    func noFix() {
        var assembler = FixAssembler(deadline: 10)
        var outputs: [FixAssembler.Output] = []
        let reports = [
            report(nil, mode: 1, latitude: nil), report(1, mode: 0, latitude: nil), report(2, mode: 3, latitude: nil),
            report(3), report(4), report(5, mode: 1, latitude: nil), report(6, mode: 1, latitude: nil), report(7),
        ]
        for (index, report) in reports.enumerated() { outputs += assembler.receive(report, at: Int64(index * 100)) }
        outputs += assembler.flush()
        #expect(
            outputs == [
                .noFix(reports[0], arrived: 0), .fix(reports[3], arrived: 300), .fix(reports[4], arrived: 400),
                .noFix(reports[5], arrived: 500), .fix(reports[7], arrived: 700),
            ])
    }

    @Test("a fix is reported as stale after ten seconds and each time its age has doubled, until the next fix")
    func stale() {
        var assembler = FixAssembler()
        _ = assembler.receive(report(5), at: 0)
        _ = assembler.advance(to: 300_000)
        #expect(assembler.nextDeadline == 10_000_000)
        #expect(take(&assembler, report(5), 9_000_000).isEmpty)
        #expect(take(&assembler, report(5), 12_000_000) == [.stale(age: 12_000_000)])
        #expect(advance(&assembler, 23_999_999).isEmpty)
        #expect(advance(&assembler, 24_000_000) == [.stale(age: 24_000_000)])
        _ = assembler.receive(report(6), at: 25_000_000)
        #expect(assembler.nextDeadline == 25_300_000)
        #expect(advance(&assembler, 25_300_000) == [.fix(report(6), arrived: 25_000_000)])
        #expect(advance(&assembler, 34_000_000).isEmpty)
    }

    @Test("without a fix nothing becomes stale")
    func noFixIsNotStale() {
        var assembler = FixAssembler()
        _ = assembler.receive(report(5), at: 0)
        _ = assembler.receive(report(6, mode: 1, latitude: nil), at: 1_000_000)
        _ = assembler.advance(to: 2_000_000)
        #expect(assembler.nextDeadline == nil)
        #expect(advance(&assembler, 60_000_000).isEmpty)
    }

    @Test("an older time is a separate fix, and alternating times are delivered once each")
    func outOfOrder() {
        var assembler = FixAssembler()
        var outputs: [FixAssembler.Output] = []
        for (index, second) in [5, 4, 5, 4, 600_000_000, 6].enumerated() {
            outputs += assembler.receive(report(Int64(second)), at: Int64(index * 1000))
        }
        outputs += assembler.flush()
        let times = outputs.compactMap { output -> Int64? in
            if case .fix(let report, _) = output { report.time.map { $0.microseconds / 1_000_000 } } else { nil }
        }
        #expect(times == [5, 4, 600_000_000, 6])
    }

    @Test("a receiver whose time steps back loses no position, and repeats of the same place are still recognised")
    func stepBack() {
        var assembler = FixAssembler()
        var outputs: [FixAssembler.Output] = []
        var delivered: [PositionReport] = []
        for (index, second) in [17, 18, 19, 18, 19, 20, 21].enumerated() {
            let report = report(Int64(second), latitude: 48 + Double(index) / 1000)
            delivered.append(report)
            // gpsd reports each fix several times.
            for part in 0..<3 {
                outputs += assembler.receive(report, at: Int64(index) * 1_000_000 + Int64(part) * 100_000)
            }
        }
        outputs += assembler.flush()
        let places = outputs.compactMap { if case .fix(let report, _) = $0 { report.latitude } else { nil } }
        #expect(places == delivered.compactMap(\.latitude))
        #expect(take(&assembler, delivered[3], 9_000_000).isEmpty)
        #expect(advance(&assembler, 9_900_000).isEmpty)
    }

    @Test("a refined place that repeats the time of a fix at once is no new fix")
    func refined() {
        var assembler = FixAssembler()
        _ = assembler.receive(report(5), at: 0)
        _ = assembler.receive(report(6), at: 10_000)
        #expect(take(&assembler, report(5, latitude: 48.000001), 20_000).isEmpty)
        #expect(advance(&assembler, 400_000) == [.fix(report(6), arrived: 10_000)])
    }

    @Test(
        "the receiver logs have as many fixes as times", .enabled(if: sharedData != nil), arguments: GpsdCheckFile.logs)
    func checkFiles(log: String) throws {
        let check = try GpsdCheckFile(log)
        #expect(!check.reports.isEmpty)
        var assembler = FixAssembler()
        var outputs: [FixAssembler.Output] = []
        for (index, report) in check.reports.enumerated() {
            outputs += assembler.receive(report, at: Int64(index) * 100_000)
        }
        outputs += assembler.flush()
        let fixes = outputs.compactMap { output -> PositionReport? in
            if case .fix(let report, _) = output { report } else { nil }
        }
        let timed = fixes.compactMap(\.time)
        #expect(timed.count == check.times.count)
        #expect(Set(timed) == check.times)
        for fix in fixes where fix.time != nil {
            let same = check.reports.filter { $0.time == fix.time }
            #expect(same.contains { $0.latitude == fix.latitude && $0.longitude == fix.longitude })
            #expect(fix.mode == same.map(\.mode).max())
            #expect((fix.altitude == nil) == same.allSatisfy { $0.altitude == nil })
        }
    }

    // Mutating calls are not allowed within `#expect`.

    private func take(
        _ assembler: inout FixAssembler, _ report: PositionReport, _ now: Int64
    ) -> [FixAssembler.Output] { assembler.receive(report, at: now) }

    private func advance(_ assembler: inout FixAssembler, _ now: Int64) -> [FixAssembler.Output] {
        assembler.advance(to: now)
    }
}
