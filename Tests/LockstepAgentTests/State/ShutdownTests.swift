import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("The agent's shutdown")
struct ShutdownTests {
    private var loop = FakeLoop()

    private mutating func shutDown(after microseconds: Int64 = 0) -> [String] {
        loop.boot += microseconds
        loop.send(.stage(.shutdown))
        return loop.take()
    }

    @Test("the last samples are written, acknowledged and followed by the phase 'terminated'")
    mutating func clean() {
        loop.connect()
        loop.add([1])
        loop.acknowledgeMessages()
        _ = loop.take()
        let last = Inbox.Item.samples(block([start + 10_000_005], .gyroscope), .own)
        loop.send(.shutdownBegan([last, .phase(.background, reason: "late"), last]))
        let written = loop.take()
        let waiting = shutDown()
        let next = loop.state.nextShutdownStep(at: loop.boot)
        loop.acknowledge(through: 2)
        let terminated = shutDown(after: 100_000)
        let stillWaiting = shutDown(after: 100_000)
        loop.acknowledgeMessages()
        let closed = shutDown()
        #expect(written == ["write 3", "live 1", "live 2"])
        #expect(waiting.isEmpty && next == 10_100_000)
        #expect(terminated == ["presence terminated (stop)"] && stillWaiting.isEmpty)
        #expect(closed == ["close by 15000000, removing e 1-2", "info: agent stopped"])
        #expect(loop.state.nextShutdownStep(at: loop.boot) == nil)
    }

    @Test("the shutdown waits for the collector until 1.5 s, for PUBACKs until 4 s, and ends after 5 s")
    mutating func deadlines() {
        loop.connect()
        loop.add([1])
        loop.send(.shutdownBegan([]))
        _ = loop.take()
        let first = shutDown() + shutDown(after: 1_499_999)
        let untilAcknowledged = loop.state.nextShutdownStep(at: loop.boot)
        // The batch has no PUBACK yet.
        let second = shutDown(after: 1) + shutDown(after: 2_499_999)
        let untilPublished = loop.state.nextShutdownStep(at: loop.boot)
        let third = shutDown(after: 1)
        let fourth = shutDown(after: 999_999)
        let untilTerminated = loop.state.nextShutdownStep(at: loop.boot)
        let fifth = shutDown(after: 1)
        #expect(first.isEmpty && second.isEmpty && fourth.isEmpty)
        #expect(third == ["info: unacknowledged batches kept in outbox", "presence terminated (stop)"])
        #expect(fifth == ["close by 15000000, removing ", "info: agent stopped"])
        #expect([untilAcknowledged, untilPublished, untilTerminated] == [11_500_000, 14_000_000, 15_000_000])
    }

    @Test("the shutdown waits for the collector's acknowledgement even after the PUBACK, but for at most 1.5 s")
    mutating func published() {
        loop.connect()
        loop.add([1])
        loop.send(.shutdownBegan([]))
        _ = shutDown()
        loop.acknowledgeMessages()
        let waiting = shutDown(after: 1_499_999)
        let terminated = shutDown(after: 1)
        #expect(waiting.isEmpty, "the collector has not acknowledged the batch")
        #expect(terminated == ["info: unacknowledged batches kept in outbox", "presence terminated (stop)"])
    }

    @Test("the shutdown does not wait without a connection")
    mutating func disconnected() {
        loop.add([1])
        loop.send(.shutdownBegan([]))
        _ = loop.take()
        #expect(
            shutDown() == [
                "info: unacknowledged batches kept in outbox", "presence terminated (stop)",
                "close by 15000000, removing ", "info: agent stopped",
            ])
    }

    @Test("a lost connection ends the wait")
    mutating func lost() {
        loop.connect()
        loop.add([1])
        loop.send(.shutdownBegan([]))
        _ = shutDown()
        loop.disconnect()
        _ = loop.take()
        #expect(shutDown().last == "info: agent stopped")
    }

    @Test("the last write is attempted even just after a failed write, and lost samples are logged")
    mutating func failingOutbox() {
        loop.writeError = outboxError
        loop.add([1])
        loop.turn(after: 1_000_000)
        _ = loop.take()
        loop.send(.shutdownBegan([]))
        let write = loop.take()
        #expect(write == ["write 1"])
        #expect(shutDown().first == "error: samples lost, outbox cannot be written")
    }

    @Test("the reason of the phase 'terminated' is 'source-failed' if a source has failed")
    mutating func sourceFailed() {
        loop.send(.item(.sourceEnded(source: "a", outboxError)))
        loop.send(.shutdownBegan([]))
        _ = loop.take()
        #expect(shutDown().first == "presence terminated (source-failed)")
    }
}
