import LockstepModel
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Clocks of devices that differ from the collector's")
struct ClockDifferencesTests {
    @Test("a difference of more than a minute is reported once, in both directions, and its end")
    func differences() {
        var differences = ClockDifferences()
        func news(_ offset: Int64) -> [Bool] {
            differences.observe(offset, of: device, at: 0)
            return differences.take().map(\.isWrong)
        }
        for sign: Int64 in [1, -1] {
            #expect(news(sign * 60_000_000) == [])
            #expect(news(sign * 60_000_001) == [true])
            #expect(news(sign * 7_200_000_000) == [])
            #expect(news(0) == [false])
        }
    }

    @Test("a clock that changes all the time is reported a few times, and its last state later")
    func changing() {
        var differences = ClockDifferences()
        for number in 0..<1001 { differences.observe(number % 2 == 0 ? 0 : 90_000_000, of: device, at: 0) }
        #expect(differences.take().count == 20)
        differences.observe(.min, of: device, at: 600_000_000)
        #expect(differences.take().map(\.isWrong) == [true])
        differences.observe(0, of: device, at: 1_200_000_000)
        #expect(differences.take().map(\.isWrong) == [false])
    }

    @Test("the newest estimate counts, also if its time is too far in the future to be stored")
    func intake() {
        var intake = Intake.standard
        var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))
        intake.collector = CollectorID(unchecked: "main")
        let points = [("main", Int64(0)), ("main", 1_000_000_000_000), ("second", 0)].map { collector, offset in
            ClockPoint(
                collector: CollectorID(unchecked: collector), time: time(10) + offset, segment: time(1) + offset,
                offset: offset, skew: 0, bound: 1, skewBound: 1)
        }
        let presence = Presence(
            epoch: epoch, session: 1, phase: .foreground, at: time(10), clock: ClockReport(points: points))
        intake.ingest(
            "lockstep/lab/pi/presence", PresenceJSON.encode(presence), isRetained: false, &registry, 11)
        #expect(
            intake.clockDifferences.take() == [
                ClockDifferences.News(device: device, offset: 1_000_000_000_000, isWrong: true)
            ])
    }
}
