import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepAgent
@testable import LockstepMQTT

@Suite("The inbox", .timeLimit(.minutes(10)))
struct InboxTests {
    @Test("a source waits while the inbox is full, and no sample is lost")
    func backPressure() async {
        let wakeup = Wakeup()
        let inbox = Inbox(wakeup: wakeup)
        let source = Task {
            for number in 0..<60 { await inbox.accept(block(0..<1000, x: Double(number) * 1000), clock: .boot) }
        }
        var taken: [Double] = []
        while taken.count < 60_000 {
            wakeup.wait(for: nil, until: .now + .milliseconds(10))
            await Task.yield()
            var samples = 0
            for case .samples(let block, .boot) in inbox.drain() {
                samples += block.count
                taken += block.columns[0]
            }
            #expect(samples <= 5000)
        }
        #expect(taken == (0..<60_000).map(Double.init))
        await source.value
    }

    @Test("a source does not wait while there is space")
    func space() async {
        let inbox = Inbox(wakeup: Wakeup())
        await inbox.accept(block(0..<4096), clock: .own)
        #expect(inbox.drain().count == 1)
    }

    @Test("closing resumes all sources and discards later items")
    func close() async {
        let wakeup = Wakeup()
        let inbox = Inbox(wakeup: wakeup)
        let sources = (0..<3).map { _ in
            Task { for _ in 0..<5 { await inbox.accept(block(0..<5000), clock: .boot) } }
        }
        wakeup.wait(for: nil, until: .now + .seconds(10))
        let rest = inbox.close()
        #expect(rest.count <= 3)
        for source in sources { await source.value }
        inbox.post(.stop)
        await inbox.accept(block(0..<5000), clock: .boot)
        #expect(inbox.drain().isEmpty)
    }

    @Test("only the first item since the last removal signals the loop")
    func signals() async {
        let wakeup = Wakeup()
        let inbox = Inbox(wakeup: wakeup)
        /// Returns the number of signals. Each signal is a byte in the pipe.
        func signals() -> Int32 {
            var count: Int32 = -1
            #expect(ioctl(wakeup.descriptor, UInt(FIONREAD), &count) == 0)
            return count
        }
        for _ in 0..<3 { await inbox.accept(block(0..<10), clock: .boot) }
        inbox.post(.stop)
        #expect(signals() == 1)
        wakeup.clear()
        inbox.post(.stop)
        #expect(signals() == 0)
        #expect(inbox.drain().count == 5)
        #expect(inbox.isEmpty)
        inbox.report(.running, from: "a")
        #expect(signals() == 1)
        #expect(!inbox.isEmpty)
    }

    @Test("items keep their order and wake the loop")
    func order() {
        let wakeup = Wakeup()
        let inbox = Inbox(wakeup: wakeup)
        inbox.report(.running, from: "a")
        inbox.post(.phase(.background, reason: "signal"))
        inbox.post(.stop)
        let began = ContinuousClock.now
        wakeup.wait(for: nil, until: began + .seconds(50))
        #expect(ContinuousClock.now - began < .seconds(40))
        let items = inbox.drain().map { item in
            switch item {
            case .samples: "samples"
            case .status(let status, let source): "\(source) \(status)"
            case .sourceEnded: "ended"
            case .phase(let phase, let reason): "\(phase) \(reason)"
            case .stop: "stop"
            }
        }
        #expect(items == ["a running", "background signal", "stop"])
    }
}

@Suite("The problem log")
struct ProblemLogTests {
    @Test("a problem is new once until it is resolved")
    func reporting() {
        var log = ProblemLog()
        #expect(log.isNew("outbox") == true)
        #expect(log.isNew("outbox") == false)
        #expect(log.isNew("broker refused") == true)
        #expect(log.isNew("broker unreachable") == true)
        log.resolve("broker")
        #expect(log.isNew("broker refused") == true)
        #expect(log.isNew("outbox") == false)
        log.resolve("outbox")
        #expect(log.isNew("outbox") == true)
    }

    @Test("an operation may be retried once a second")
    func retrying() {
        var log = ProblemLog()
        #expect(log.isRetryDue("outbox", at: 0) == true)
        #expect(log.isRetryDue("outbox", at: 999_999) == false)
        #expect(log.isRetryDue("other", at: 999_999) == true)
        #expect(log.isRetryDue("outbox", at: 1_000_000) == true)
        #expect(log.isRetryDue("outbox", at: 1_000_001) == false)
    }
}
