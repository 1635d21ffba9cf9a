import Dispatch
import Glibc
import LockstepMQTT
import Testing

@Suite("A wakeup")
struct WakeupTests {
    @Test("from another thread ends a wait at once", .timeLimit(.minutes(10)))
    func otherThread() {
        let wakeup = Wakeup()
        DispatchQueue.global().async { wakeup.signal() }
        let began = ContinuousClock.now
        #expect(!wakeup.wait(for: nil, until: began + .seconds(50)))
        #expect(ContinuousClock.now - began < .seconds(40))
    }

    @Test("that came before the wait ends it too, once")
    func before() {
        let wakeup = Wakeup()
        for _ in 0..<10 { wakeup.signal() }
        let began = ContinuousClock.now
        wakeup.wait(for: nil, until: began + .seconds(50))
        #expect(ContinuousClock.now - began < .seconds(40))
        let again = ContinuousClock.now
        wakeup.wait(for: nil, until: again + .milliseconds(20))
        #expect(ContinuousClock.now - again >= .milliseconds(20))
    }

    @Test("never holds up who signals, however often")
    func often() {
        let wakeup = Wakeup()
        for _ in 0..<200_000 { wakeup.signal() }
        let began = ContinuousClock.now
        wakeup.wait(for: nil, until: began + .seconds(50))
        #expect(ContinuousClock.now - began < .seconds(40))
    }

    @Test("waits until the deadline, and not at all when it has passed")
    func deadline() {
        let wakeup = Wakeup()
        let began = ContinuousClock.now
        #expect(!wakeup.wait(for: nil, until: began - .seconds(5)))
        #expect(!wakeup.wait(for: nil, until: began + .milliseconds(30)))
        #expect(ContinuousClock.now - began >= .milliseconds(30))
    }

    @Test("tells whether there is something to read from a socket")
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
