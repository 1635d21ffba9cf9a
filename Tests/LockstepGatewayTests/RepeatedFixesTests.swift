import LockstepModel
import Testing

@testable import LockstepGateway

@Suite("Repeated fixes")
struct RepeatedFixesTests {
    private let fix: Int64 = 1_000_000

    private func report(_ level: Int, of sender: String = "a", fix: Int64? = nil) -> ForeignReport {
        var battery = Reading("battery", at: fix ?? self.fix)
        battery.set("level", Double(level))
        var report = ForeignReport(sender: ForeignName("owntracks", [sender]), readings: [battery])
        report.timeOfFix = fix ?? self.fix
        return report
    }

    /// Returns the arrival of a report that arrives at a time, and records it.
    private func note(
        _ report: ForeignReport, isRetained: Bool = false, at time: Int64, in fixes: inout RepeatedFixes
    ) -> Int64? {
        let now = Timestamp(microseconds: time)
        let arrival = fixes.arrival(of: report, isRetained: isRetained, at: now)
        fixes.note(report, movedTo: arrival, at: now)
        return arrival?.microseconds
    }

    @Test("messages after the first one of a fix have their arrival, and equal ones the first arrival")
    func arrivals() {
        var fixes = RepeatedFixes()
        #expect(note(report(1), at: 10, in: &fixes) == nil)
        #expect(note(report(2), at: 20, in: &fixes) == 20)
        #expect(note(report(3), isRetained: true, at: 30, in: &fixes) == nil)
        #expect(note(report(1, fix: fix + 1), at: 40, in: &fixes) == nil)
        #expect(note(report(2, fix: fix + 1), at: 50, in: &fixes) == 50)
        // They are sent again after those of the next fix.
        #expect(note(report(1), at: 60, in: &fixes) == nil)
        #expect(note(report(2), at: 70, in: &fixes) == 20)
        #expect(note(report(2), isRetained: true, at: 80, in: &fixes) == 20)
        #expect(note(report(3, fix: fix + 1), at: 90, in: &fixes) == 90, "the last fix stays")
        #expect(note(report(2, of: "b"), at: 100, in: &fixes) == nil, "senders are independent")
        let later = 50 + RepeatedFixes.period
        #expect(note(report(2, fix: fix + 1), at: later - 1, in: &fixes) == 50)
        #expect(note(report(2, fix: fix + 1), at: later, in: &fixes) == later, "a new message with the same values")
        #expect(note(report(2, fix: fix + 1), at: later + 1, in: &fixes) == later)
        var other = report(9)
        other.timeOfFix = nil
        #expect(note(other, at: 110, in: &fixes) == nil)
    }

    @Test("the messages of a sender and the senders are limited")
    func limits() {
        var fixes = RepeatedFixes()
        let count = RepeatedFixes.maxMessages
        for level in 0...count { _ = note(report(level), at: Int64(level), in: &fixes) }
        #expect(note(report(count), at: 1000, in: &fixes) == Int64(count))
        #expect(note(report(1), at: 1000, in: &fixes) == 1, "the oldest of the last ones")
        #expect(note(report(0), at: 1000, in: &fixes) == 1000, "an older one is forgotten")
        for number in 1...RepeatedFixes.maxSenders { _ = note(report(1, of: "\(number)"), at: 0, in: &fixes) }
        #expect(note(report(2, of: "\(RepeatedFixes.maxSenders - 1)"), at: 1, in: &fixes) == 1)
        #expect(note(report(2, of: "\(RepeatedFixes.maxSenders)"), at: 1, in: &fixes) == nil, "one sender too many")
    }
}
