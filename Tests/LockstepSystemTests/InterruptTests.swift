import Testing

@testable import LockstepSystem

@Suite("Interrupt")
struct InterruptTests {
    @Test(
        "a second signal counts from one second after the first",
        arguments: [([], false), ([0], false), ([0, 5, 999], false), ([0, 1000], true), ([0, 5, 1500], true)]
            as [([Int], Bool)])
    func repeated(milliseconds: [Int], expected: Bool) {
        let start = ContinuousClock.now
        let isRepeated = Interrupt.isRepeated(milliseconds.map { start + .milliseconds($0) })
        #expect(isRepeated == expected)
    }
}
