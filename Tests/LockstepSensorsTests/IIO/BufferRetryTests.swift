import LockstepSensors
import Testing

@Suite("Retries of IIO sensors without access rights")
struct BufferRetryTests {
    private let retry = BufferRetry(minDelay: 100, maxDelay: 1000, minSpacing: 50)

    @Test("nothing is due before the first failure")
    func unused() {
        #expect(!retry.isDue(at: .max - 1))
    }

    @Test("the delay doubles with each failure up to the longest delay")
    func doubles() {
        var retry = retry
        var delays: [Int64] = []
        for now in stride(from: Int64(0), to: 60_000, by: 10_000) {
            retry.didFail(at: now)
            delays.append(retry.deadline - now)
            #expect(!retry.isDue(at: retry.deadline - 1) && retry.isDue(at: retry.deadline))
        }
        #expect(delays == [100, 200, 400, 800, 1000, 1000])
    }

    @Test("an event makes the next attempt due at once, and the delays start again")
    func event() {
        var retry = retry
        for now in [0, 1000, 2000, 3000] as [Int64] { retry.didFail(at: now) }
        #expect(retry.deadline == 3800)
        retry.noteEvent(at: 3200)
        #expect(retry.deadline == 3200)
        retry.didFail(at: 3200)
        #expect(retry.deadline == 3300)
        retry.didFail(at: 3300)
        #expect(retry.deadline == 3500)
    }

    @Test("attempts have a minimum distance, however many events arrive")
    func flood() {
        var retry = retry
        var attempts: [Int64] = []
        retry.didFail(at: 0)
        for now in Int64(1)...200 {
            retry.noteEvent(at: now)
            guard retry.isDue(at: now) else { continue }
            attempts.append(now)
            retry.didFail(at: now)
        }
        #expect(attempts == [50, 100, 150, 200])
    }

    @Test("an event never postpones an attempt")
    func soon() {
        var retry = BufferRetry(minDelay: 10, maxDelay: 1000, minSpacing: 50)
        retry.didFail(at: 0)
        retry.noteEvent(at: 5)
        #expect(retry.deadline == 10)
    }
}
