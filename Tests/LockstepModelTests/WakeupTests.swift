import Dispatch
import Glibc
import LockstepModel
import Testing

@Suite("Wakeup")
struct WakeupTests {
    @Test("a signal from another thread ends a wait at once", .timeLimit(.minutes(10)))
    func otherThread() {
        let wakeup = Wakeup()
        DispatchQueue.global().async { wakeup.signal() }
        let start = ContinuousClock.now
        #expect(!wakeup.wait(for: nil, until: start + .seconds(50)))
        #expect(ContinuousClock.now - start < .seconds(40))
    }

    @Test("several signals before a wait end only the next wait")
    func before() {
        let wakeup = Wakeup()
        for _ in 0..<10 { wakeup.signal() }
        let start = ContinuousClock.now
        wakeup.wait(for: nil, until: start + .seconds(50))
        #expect(ContinuousClock.now - start < .seconds(40))
        let again = ContinuousClock.now
        wakeup.wait(for: nil, until: again + .milliseconds(20))
        #expect(ContinuousClock.now - again >= .milliseconds(20))
    }

    @Test("signals never block, even if the pipe is full")
    func often() {
        let wakeup = Wakeup()
        for _ in 0..<200_000 { wakeup.signal() }
        let start = ContinuousClock.now
        wakeup.wait(for: nil, until: start + .seconds(50))
        #expect(ContinuousClock.now - start < .seconds(40))
    }

    @Test("a wait ends at its deadline, and at once if the deadline has passed")
    func deadline() {
        let wakeup = Wakeup()
        let start = ContinuousClock.now
        #expect(!wakeup.wait(for: nil, until: start - .seconds(5)))
        #expect(!wakeup.wait(for: nil, until: start + .milliseconds(30)))
        #expect(ContinuousClock.now - start >= .milliseconds(30))
    }

    @Test("a wait returns whether there is data to read from the socket")
    func socket() throws {
        let wakeup = Wakeup()
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(!wakeup.wait(for: (ends[0], false), until: .now))
        #expect(!wakeup.wait(for: (ends[1], true), until: .now + .seconds(50)))
        var byte: UInt8 = 1
        try #require(write(ends[1], &byte, 1) == 1)
        #expect(wakeup.wait(for: (ends[0], false), until: .now + .seconds(50)))
        wakeup.signal()
        #expect(wakeup.wait(for: (ends[0], false), until: .now + .seconds(50)))
    }
}
