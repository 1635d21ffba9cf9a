import LockstepModel
import Testing

@testable import LockstepExport

@Suite("Gaps of a session")
struct SessionGapTests {
    private func gaps(_ times: [Int64], rate: Double?, end: Int64) -> [[Int64]] {
        var finder = RecordingSession.GapFinder(from: Timestamp(microseconds: 0), rate: rate)
        for time in times { finder.add(Timestamp(microseconds: time)) }
        finder.end(at: Timestamp(microseconds: end))
        #expect(finder.samples == times.count)
        return finder.gaps.map { [$0.from.microseconds, $0.to.microseconds, $0.count] }
    }

    @Test(
        "a gap is longer than three intervals and 0.1 s, also at the start and at the end"
    )
    func gaps() {
        let seconds = (0..<10).map { Int64($0) * 1_000_000 }
        #expect(gaps(seconds, rate: 1, end: 10_000_000) == [])
        #expect(
            gaps(seconds.filter { !(3...5).contains($0 / 1_000_000) }, rate: 1, end: 10_000_000) == [
                [2_000_000, 6_000_000, 3]
            ])
        #expect(gaps([5_000_000], rate: 1, end: 10_000_000) == [[0, 5_000_000, 4], [5_000_000, 10_000_000, 4]])
        #expect(gaps([], rate: 100, end: 1_000_000) == [[0, 1_000_000, 99]])
        #expect(gaps([0, 100_000], rate: 1000, end: 100_000) == [], "a wait of the system is no gap")
    }

    @Test("a stream without an asked rate has no gaps")
    func noRate() { #expect(gaps([0, 9_000_000], rate: nil, end: 20_000_000) == []) }
}
