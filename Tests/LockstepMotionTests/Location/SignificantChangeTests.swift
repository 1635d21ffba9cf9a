import LockstepModel
import LockstepMotion
import Testing

@Suite("Significant changes of location")
struct SignificantChangeTests {
    @Test("a fix passes if the device has moved far enough from the last one that passed")
    func moves() {
        var filter = SignificantChangeFilter(distance: 500)
        let passed = (0..<40).filter { filter.update(fix(Double($0), north: Double($0) * 60)) }
        #expect(passed == [0, 9, 18, 27, 36])
        #expect(filter.last == fix(36, north: 2160))
    }

    @Test("a move within the accuracy of the fixes does not pass")
    func accuracy() {
        var filter = SignificantChangeFilter(distance: 500)
        _ = filter.update(fix(0, accuracy: 400))
        let uncertain = filter.update(fix(1, north: 700, accuracy: 350))
        #expect(!uncertain)
        let certain = filter.update(fix(2, north: 700, accuracy: 20))
        #expect(certain)
    }

    @Test("samples pass unchanged, and the loss of the position passes once")
    func samples() {
        var block = SampleBlock(stream: .location)
        for second in 0..<10 {
            block.append(
                time: fix(Double(second)).time, values: fix(Double(second), north: Double(second) * 200).values)
        }
        let lost = SampleBlock(
            stream: .location, times: (10..<13).map { fix(Double($0)).time.microseconds },
            columns: (0..<9).map { column in (0..<3).map { _ in column == 7 ? 1 : .nan } })
        var filter = SignificantChangeFilter()
        let passed = filter.update(block)
        #expect(passed.times == [0, 3, 6, 9].map { block.times[$0] })
        #expect(passed.values(at: 1)[0] == block.values(at: 3)[0])
        let passedLosses = filter.update(lost)
        #expect(passedLosses.times == [lost.times[0]])
    }
}
