import Testing

@testable import LockstepCollector

@Suite("Arrival rate")
struct ArrivalRateTests {
    private let start = ContinuousClock.now

    @Test("a rate is steady when two periods have reached it")
    func steady() {
        var rate = ArrivalRate(at: start)
        for turn in 1...4 { rate.record(messages: 50, samples: 100, at: start + .milliseconds(50 * turn)) }
        #expect(rate.steady.messages == 1000 && rate.steady.samples == 2000)
        rate.record(messages: 400, samples: 1000, at: start + .milliseconds(300))
        #expect(rate.steady.messages == 1000 && rate.steady.samples == 2000)
        #expect(rate.peakMessages == 4000)
        rate.record(messages: 0, samples: 0, at: start + .milliseconds(500))
        #expect(rate.steady.messages == 0 && rate.peakMessages == 4000)
    }

    @Test("a longer period counts with its length")
    func longer() {
        var rate = ArrivalRate(at: start)
        rate.record(messages: 200, samples: 200, at: start + .milliseconds(200))
        #expect(rate.peakMessages == 1000)
    }

    @Test("the peak counts the current period, and a burst after a pause")
    func peak() {
        var rate = ArrivalRate(at: start)
        rate.record(messages: 20, samples: 20, at: start + .milliseconds(1))
        #expect(rate.peakMessages == 200 && rate.steady.messages == 0)
        rate.record(messages: 80, samples: 80, at: start + .seconds(1))
        #expect(rate.peakMessages == 1000 && rate.steady.messages == 0)
    }
}
