import LockstepModel
import LockstepMotion
import Testing

@Suite("Implausible fixes")
struct PlausibilityTests {
    private static let rollover: Int64 = 1024 * 7 * 86_400_000_000

    @Test("a jump is rejected, and the fixes after it are accepted")
    func jump() {
        var filter = LocationFilter()
        var rejected: [Int] = []
        for second in 0..<20 {
            let isOff = second == 7 || second == 8
            let decision = filter.update(fix(Double(second), north: Double(second) + (isOff ? 80_000 : 0)))
            guard decision.isAccepted else {
                rejected.append(second)
                guard case .jump(let speed)? = decision.reason else {
                    Issue.record("\(decision)")
                    continue
                }
                #expect(speed > 30_000)
                continue
            }
        }
        #expect(rejected == [7, 8])
    }

    @Test("five mutually consistent fixes outweigh the previous position")
    func newPlace() {
        var filter = LocationFilter()
        _ = filter.update(fix(0))
        let accepted = (1...10).map { filter.update(fix(Double($0), north: 80_000 + Double($0))).isAccepted }
        #expect(accepted == [false, false, false, false] + [Bool](repeating: true, count: 6))
        // Inconsistent fixes never outweigh it.
        let wild = (11...30).map { filter.update(fix(Double($0), north: Double($0) * 50_000)).isAccepted }
        #expect(!wild.contains(true))
    }

    @Test("an airliner, an inaccurate fix and a long pause are not jumps")
    func plausible() {
        var airliner = LocationFilter()
        let flown = (0..<20).map { airliner.update(fix(Double($0), north: Double($0) * 280)).isAccepted }
        #expect(!flown.contains(false))
        var inaccurate = LocationFilter()
        _ = inaccurate.update(fix(0))
        let cell = inaccurate.update(fix(1, north: 2000, accuracy: 2500))
        #expect(cell.isAccepted)
        var carried = LocationFilter()
        _ = carried.update(fix(0))
        let later = carried.update(fix(3600, north: 300_000))
        #expect(later.isAccepted)
    }

    @Test("fixes are rejected while the receiver's clock is off by 1024 weeks", arguments: [-2, -1, 1])
    func rollover(cycles: Int64) {
        var filter = LocationFilter()
        var offs: [Double] = []
        for second in 0..<10 {
            let time = fix(Double(second)).time
            let decision = filter.update(
                fix(Double(second), receiver: second < 3 ? time + cycles * Self.rollover : time))
            if case .clock(let off)? = decision.reason { offs.append(off) }
            #expect(decision.isAccepted == (second >= 3))
        }
        #expect(offs == [Double](repeating: Double(cycles) * 1024 * 7 * 86_400, count: 3))
        let text = LocationRejection.clock(offset: -1024 * 604_800).description
        #expect(text == "the receiver's clock is 1024 weeks behind (week rollover)")
    }

    @Test("a fix whose time jumps by 1024 weeks is rejected, even if all fixes are old")
    func jumpOfTime() {
        var filter = LocationFilter()
        // A recording from 2025, replayed in 2046.
        let shift: Int64 = 20 * 365 * 86_400_000_000
        let recorded = (0..<10).map { second in
            var old = fix(Double(second))
            old.time = old.time + shift
            if second == 5 { old.fixTime = old.fixTime.map { $0 + Self.rollover } }
            return old
        }
        let accepted = recorded.map { filter.update($0).isAccepted }
        #expect(accepted == [true, true, true, true, true, false, true, true, true, true])
    }

    @Test("a receiver that is always 1024 weeks behind is accepted after five fixes, with its time corrected")
    func lasting() {
        var filter = LocationFilter()
        var accepted: [Int] = []
        for second in 0..<10 {
            let sample = fix(Double(second))
            let decision = filter.update(fix(Double(second), receiver: sample.time - Self.rollover - 500_000))
            guard case .accepted(_, let current) = decision else { continue }
            accepted.append(second)
            #expect(current.fixTime == sample.time - 500_000)
            #expect(!current.isStale)
        }
        #expect(accepted == [4, 5, 6, 7, 8, 9])
    }

    @Test("fixes are accepted after five if the device's clock is years behind the receiver's")
    func deviceClock() {
        var filter = LocationFilter()
        let year: Int64 = 365 * 86_400_000_000
        let accepted = (0..<8).map { second in
            filter.update(fix(Double(second), receiver: fix(Double(second)).time + 3 * year)).isAccepted
        }
        #expect(accepted == [false, false, false, false, true, true, true, true])
    }

    @Test("a fix from before the last rollover is rejected")
    func tooEarly() {
        var filter = LocationFilter()
        let past = filter.update(fix(0, receiver: Timestamp("2005-06-09T14:34:44Z")))
        guard case .clock? = past.reason else {
            Issue.record("\(past)")
            return
        }
        let cached = filter.update(fix(1, receiver: Timestamp("2025-01-23T14:34:46Z")))
        guard case .accepted(_, let current) = cached else {
            Issue.record("\(cached)")
            return
        }
        #expect(current.isStale)
    }
}
