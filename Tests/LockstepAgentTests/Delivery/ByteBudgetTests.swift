import LockstepAgent
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("The byte budget")
struct ByteBudgetTests {
    @Test("the budget starts with the bytes of one second, and one message may overdraw it")
    func first() {
        var budget = ByteBudget(rate: 1000, at: 0)
        #expect(budget.isOpen(at: 0) == true)
        budget.spend(999)
        #expect(budget.isOpen(at: 0) == true)
        budget.spend(5000)
        #expect(budget.isOpen(at: 0) == false)
        #expect(budget.isOpen(at: 4_999_000) == false)
        #expect(budget.isOpen(at: 5_001_000) == true)
    }

    @Test("unused budget accumulates for at most a second")
    func saving() {
        var budget = ByteBudget(rate: 1000, at: 0)
        #expect(budget.isOpen(at: 3_600_000_000) == true)
        budget.spend(1000)
        #expect(budget.isOpen(at: 3_600_000_000) == false)
    }

    @Test("the average rate is the configured rate")
    func rate() {
        var (random, seed) = seeded("byte budget")
        var budget = ByteBudget(rate: 10_000, at: 0)
        var sent = 0
        for step in 0..<60_000 as Range<Int64> where budget.isOpen(at: step * 1000) {
            let bytes = Int.random(in: 1...500, using: &random)
            budget.spend(bytes)
            sent += bytes
        }
        #expect((600_000...611_000).contains(sent), "seed \(seed)")
    }
}
