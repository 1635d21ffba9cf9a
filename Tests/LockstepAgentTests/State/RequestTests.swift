import FoundationEssentials
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("Requests to the agent")
struct RequestTests {
    private var loop = FakeLoop()

    private mutating func answer(_ json: String) -> AgentReply? {
        loop.request(json)
        loop.turn()
        return loop.replies.last
    }

    @Test("a turn answers at most twenty requests, and the loop continues at once")
    mutating func bounded() {
        for _ in 0..<50 { loop.request(#"{"describe":true}"#) }
        var answered: [Int] = []
        var wakes: [Bool] = []
        for _ in 0..<4 {
            loop.turn()
            answered.append(loop.replies.count)
            wakes.append(loop.state.nextTurn(at: loop.boot) == loop.boot)
        }
        #expect(answered == [20, 40, 50, 50])
        #expect(wakes == [true, true, false, false])
    }

    @Test("requests are answered in order, in the next turn")
    mutating func order() {
        for id in ["a", "b"] { loop.request(#"{"id":"\#(id)","describe":true}"#) }
        let before = loop.replies.count
        loop.turn()
        #expect(before == 0 && loop.replies.map(\.id) == ["a", "b"])
    }

    @Test("a retained request is ignored")
    mutating func retained() {
        loop.request(#"{"describe":true}"#, isRetained: true)
        loop.turn()
        #expect(loop.take().isEmpty)
    }

    @Test("an invalid request is rejected with the reason and its id, and logged once")
    mutating func invalid() {
        loop.request(#"{"id":"a","dance":true}"#)
        loop.request("{")
        loop.turn()
        let actions = loop.take()
        #expect(actions == ["warning: request rejected", "reply", "reply"])
        #expect(loop.replies.map(\.id) == ["a", nil])
        #expect(loop.replies.allSatisfy { if case .failed = $0.outcome { true } else { false } })
    }

    @Test("a lease raises the rate of the source until it expires")
    mutating func lease() {
        let reply = answer(#"{"id":"a","rate":{"stream":"motion/gyroscope","hz":200,"lease_s":10}}"#)
        let leased = loop.state.leases.rates
        let wake = loop.state.nextTurn(at: loop.boot + 9_500_000)
        loop.turn(after: 9_999_999)
        let early = loop.state.leases.rates
        loop.turn(after: 1)
        let end = Timestamp(microseconds: start + 20_000_000)
        #expect(reply?.outcome == .leased(stream: .gyroscope, rate: .infinity, until: end))
        #expect(leased == [.gyroscope: 200] && early == leased && loop.state.leases.rates.isEmpty)
        #expect(wake == 20_000_000)
    }

    @Test("a lease in background starts the source, and its end stops it")
    mutating func leaseInBackground() {
        loop.send(.item(.phase(.background, reason: "signal")))
        let paused = loop.rates
        _ = answer(#"{"rate":{"stream":"motion/gyroscope","hz":50,"lease_s":10}}"#)
        let leased = loop.rates
        _ = loop.take()
        loop.turn(after: 10_000_000)
        #expect(paused.isEmpty && leased == [.gyroscope: 50])
        #expect(loop.rates.isEmpty && loop.take() == ["set rates"])
    }

    @Test("a request that is received again is answered with the same reply and not performed again")
    mutating func repeated() {
        let lease = #"{"id":"a","rate":{"stream":"motion/gyroscope","hz":200,"lease_s":10}}"#
        let first = answer(lease)
        loop.turn(after: 2_000_000)
        let again = answer(lease)
        #expect(first?.outcome == again?.outcome && again?.id == "a")
        loop.turn(after: 8_000_000)
        #expect(loop.state.leases.rates.isEmpty, "the lease was not extended")

        loop.add([1])
        let flush = #"{"id":"b","flush":true}"#
        let flushed = answer(flush)
        loop.add([2])
        _ = loop.take()
        #expect(answer(flush) == flushed && loop.take() == ["reply"])

        let background = #"{"id":"c","phase":"background"}"#
        _ = answer(background)
        _ = answer(#"{"id":"d","phase":"foreground"}"#)
        #expect(answer(background)?.outcome == .phase(.background) && loop.state.presence.phase == .foreground)
    }

    @Test("a request that was received twice in one turn is performed once")
    mutating func repeatedInTurn() {
        loop.add([1])
        for _ in 0..<2 { loop.request(#"{"id":"a","flush":true}"#) }
        loop.turn()
        #expect(loop.take().filter { !$0.hasPrefix("live") } == ["write 1", "reply", "reply"])
        #expect(loop.replies == [1, 1].map { AgentReply(id: "a", outcome: .flushed(batches: $0)) })
    }

    @Test("a refused request that is received again is refused again, even if it could be performed now")
    mutating func repeatedFailure() {
        loop.writeError = outboxError
        loop.add([1])
        let failed = answer(#"{"id":"a","flush":true}"#)
        loop.writeError = nil
        let again = answer(#"{"id":"a","flush":true}"#)
        #expect(failed == again && loop.written.isEmpty)
        #expect(answer(#"{"id":"b","flush":true}"#)?.outcome == .flushed(batches: 0) && loop.written.count == 1)
    }

    @Test("another request of the same client with a used id is refused, and one of another client is performed")
    mutating func usedID() {
        _ = answer(#"{"id":"a","phase":"background"}"#)
        let other = answer(#"{"id":"a","phase":"foreground"}"#)
        #expect(
            other?.outcome
                == .failed("the id 'a' was used for another request: choose a new id for each request"))
        #expect(loop.state.presence.phase == .background)
        #expect(answer(#"{"id":"a","client":"b","phase":"foreground"}"#)?.outcome == .phase(.foreground))
        let again = answer(#"{"id":"a","phase":"background"}"#)
        #expect(again?.outcome == .phase(.background) && loop.state.presence.phase == .foreground)
    }

    @Test("a description and a request without an id are performed each time")
    mutating func unidentified() {
        loop.add([1])
        _ = answer(#"{"flush":true}"#)
        loop.add([2])
        #expect(answer(#"{"flush":true}"#)?.outcome == .flushed(batches: 1))
        _ = answer(#"{"id":"a","phase":"inactive"}"#)
        _ = answer(#"{"id":"a","describe":true}"#)
        _ = answer(#"{"phase":"background"}"#)
        guard case .described(let description) = answer(#"{"id":"a","describe":true}"#)?.outcome else {
            Issue.record("there is no description")
            return
        }
        #expect(description.phase == .background)
    }

    @Test("the newest 1,000 requests are remembered")
    func capacity() {
        var answered = AnsweredRequests()
        func flush(_ id: Int) -> AgentRequest { AgentRequest(id: "\(id)", action: .flush) }
        for id in 0..<2500 {
            answered.insert(flush(id), .flushed(batches: id))
            answered.insert(flush(id), .flushed(batches: -1))
        }
        #expect(answered.outcome(of: flush(1499)) == nil)
        #expect((1500..<2500).allSatisfy { answered.outcome(of: flush($0)) == .flushed(batches: $0) })
    }

    @Test("a lease of a stream that the agent does not have is refused")
    mutating func unknownStream() {
        let reply = answer(#"{"rate":{"stream":"location","hz":1,"lease_s":10}}"#)
        #expect(
            reply?.outcome
                == .failed("this agent does not provide the stream 'location'; available streams: motion/gyroscope"))
    }

    @Test("leases beyond the maximum are refused")
    mutating func tooManyLeases() {
        for client in 0..<LeaseRegistry.maxLeases {
            let lease = RateLease(stream: .gyroscope, rate: 1, duration: 10)
            _ = loop.state.leases.add(lease, of: "\(client)", at: loop.boot)
        }
        let reply = answer(#"{"rate":{"stream":"motion/gyroscope","hz":1,"lease_s":10},"client":"one more"}"#)
        guard case .failed(let reason) = reply?.outcome else {
            Issue.record("the lease was granted")
            return
        }
        #expect(reason.hasPrefix("the maximum of 1000 leases"))
    }

    @Test("a flush writes the window at once and replies after the write")
    mutating func flush() {
        loop.add([1])
        let reply = answer(#"{"id":"a","flush":true}"#)
        #expect(loop.take() == ["write 1", "live 1", "reply"])
        #expect(reply == AgentReply(id: "a", outcome: .flushed(batches: 1)))
    }

    @Test("a flush retries a failed write at once, and fails if samples are still in memory")
    mutating func failingFlush() {
        loop.writeError = outboxError
        loop.add([1])
        loop.turn(after: 1_000_000)
        _ = loop.take()
        let failed = answer(#"{"flush":true}"#)
        let again = answer(#"{"flush":true}"#)
        let writes = loop.take().filter { $0.hasPrefix("write") }
        loop.writeError = nil
        let succeeded = answer(#"{"flush":true}"#)
        let failure = AgentReply.Outcome.failed("the outbox cannot be written: see the log of the agent")
        #expect(failed?.outcome == failure && again?.outcome == failure && writes == ["write 1", "write 1"])
        #expect(succeeded?.outcome == .flushed(batches: 0) && loop.written.count == 1)
    }

    @Test("two flushes in one turn are carried out one after the other")
    mutating func twoFlushes() {
        loop.writeError = outboxError
        loop.add([1])
        loop.request(#"{"flush":true}"#)
        loop.request(#"{"flush":true}"#)
        loop.turn()
        #expect(loop.take().filter { $0.hasPrefix("write") } == ["write 1", "write 1"])
    }

    @Test("a phase request sets the phase and replies")
    mutating func phase() {
        let reply = answer(#"{"phase":"background"}"#)
        #expect(reply?.outcome == .phase(.background) && loop.state.presence.phase == .background)
        #expect(loop.take() == ["info: phase changed command", "presence background (command)", "set rates", "reply"])
    }

    @Test("a description has phase, streams, leases, sources and the samples dropped before they reached the outbox")
    mutating func describe() {
        loop.send(.item(.status(.running, source: "gyro")))
        _ = answer(#"{"client":"me","rate":{"stream":"motion/gyroscope","hz":200,"lease_s":10}}"#)
        loop.state.presence.unsavedDropped = 7
        let reply = answer(#"{"id":"a","describe":true}"#)
        guard reply?.id == "a", case .described(let description) = reply?.outcome else {
            Issue.record("there is no description")
            return
        }
        #expect(description.phase == .foreground && description.droppedSamples == 7)
        #expect(description.streams == [.init(stream: .gyroscope, rate: .infinity)])
        #expect(description.leases.map(\.client) == ["me"] && description.sources == ["gyro": "running"])
    }
}
