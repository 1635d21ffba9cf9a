import LockstepModel
import LockstepSystem
import Testing

@Suite("Supervision")
struct SupervisionTests {
    private let start = ContinuousClock.now
    private var generator = SystemRandomNumberGenerator()

    @Test("a part that ends before it was ever ready makes the system fail")
    mutating func fatal() {
        var part = Supervision(startedAt: start)
        let verdict = part.didEnd(at: start, using: &generator)
        #expect(verdict == .fatal)
        #expect(part.deadline == nil)
    }

    @Test("a part that was ready is started again, with growing delays until it is stable")
    mutating func restarts() {
        var part = Supervision(startedAt: start, backoff: Backoff(initial: .seconds(1), maximum: .seconds(8)))
        part.didBecomeReady(at: start)
        var now = start
        for limit in [1, 2, 4, 8, 8] {
            guard case .restart(let delay) = part.didEnd(at: now, using: &generator) else {
                Issue.record("not restarted")
                return
            }
            #expect(delay >= .seconds(limit) / 2 && delay <= .seconds(limit))
            #expect(part.deadline == now + delay)
            #expect(!part.isDue(at: now) && part.isDue(at: now + delay))
            now += delay
            part.didStart(at: now)
        }
        // Also a restart that fails is tried again.
        #expect(part.restarts == 5)
        part.didBecomeReady(at: now)
        now += .seconds(10)
        guard case .restart(let delay) = part.didEnd(at: now, using: &generator) else {
            Issue.record("not restarted")
            return
        }
        #expect(delay <= .seconds(1))
    }

    @Test("a part that is held stays down until it is released")
    mutating func held() {
        var part = Supervision(startedAt: start)
        part.didBecomeReady(at: start)
        part.hold()
        let killed = part.didEnd(at: start, using: &generator)
        #expect(killed == .expected)
        #expect(part.deadline == nil && !part.isDue(at: start + .seconds(1000)))
        part.release(at: start + .seconds(5))
        #expect(part.isDue(at: start + .seconds(5)))
        part.didStart(at: start + .seconds(5))
        part.didBecomeReady(at: start + .seconds(6))
        let later = part.didEnd(at: start + .seconds(7), using: &generator)
        #expect(later != .expected)
    }

    @Test("a part that waits for its restart is held, too")
    mutating func heldWhileWaiting() {
        var part = Supervision(startedAt: start)
        part.didBecomeReady(at: start)
        _ = part.didEnd(at: start, using: &generator)
        part.hold()
        #expect(part.deadline == nil && !part.isDue(at: start + .seconds(1000)))
    }

    @Test("a part that is not ready for long is reported once for each start")
    func late() {
        var part = Supervision(startedAt: start)
        let late = start + Supervision.patience
        #expect(part.deadline == late)
        let early = part.isLate(at: late - .seconds(1))
        #expect(!early)
        let first = part.isLate(at: late)
        #expect(first)
        let second = part.isLate(at: late + .seconds(1))
        #expect(!second)
        #expect(part.deadline == nil)
        part.didStart(at: late)
        let again = part.isLate(at: late + Supervision.patience)
        #expect(again)
    }

    @Test("a part that is to be stopped is not started again")
    mutating func stopped() {
        var running = Supervision(startedAt: start)
        running.didBecomeReady(at: start)
        let mustStop = running.willStop()
        #expect(mustStop)
        let end = running.didEnd(at: start, using: &generator)
        #expect(end == .expected)
        #expect(running.state == .over)

        var waiting = Supervision(startedAt: start)
        waiting.didBecomeReady(at: start)
        _ = waiting.didEnd(at: start, using: &generator)
        let waitingMustStop = waiting.willStop()
        #expect(!waitingMustStop)
        #expect(!waiting.isDue(at: start + .seconds(1000)))
    }
}

@Suite("Faults of a demonstration")
struct FaultPlanTests {
    @Test("each fault is over before the next one begins, and all before the end", arguments: [1, 2, 5])
    func order(devices: Int) {
        let devices = (1...devices).map { "demo-\($0)" }
        let steps = FaultPlan(devices: devices, hasPage: true).steps
        #expect(steps.map(\.share) == steps.map(\.share).sorted())
        #expect(steps.count == 10 && steps.allSatisfy { $0.share > 0 && $0.share < 0.9 })
        for pair in stride(from: 0, to: steps.count, by: 2) {
            switch (steps[pair].action, steps[pair + 1].action) {
            case (.kill(let a), .restart(let b)), (.disconnect(let a), .reconnect(let b)): #expect(a == b)
            default: Issue.record("\(steps[pair]) is not followed by its end")
            }
        }
    }

    @Test("actions are returned in order when their time has come, and a fault that is not over has an end")
    func next() {
        var plan = FaultPlan(devices: ["a"], hasPage: false)
        #expect(plan.disconnected == "a")
        let nothing = plan.next(at: 0)
        #expect(nothing == nil)
        #expect(plan.ending == nil)
        let kill = plan.next(at: 0.5)
        #expect(kill == .kill("a"))
        #expect(plan.ending == .restart("a"))
        let restart = plan.next(at: 0.5)
        #expect(restart == .restart("a"))
        let disconnect = plan.next(at: 0.5)
        #expect(disconnect == .disconnect("a"))
    }
}

@Suite("Faults of a cluster")
struct ClusterFaultTests {
    @Test("what fails is started again, one after the other, except for the last two", arguments: [true, false])
    func order(hasKeeper: Bool) {
        let plan = FaultPlan(
            collectors: ("b", "c"), store: "replica", keeper: hasKeeper ? "keeper" : nil, broker: "broker", page: "page"
        )
        var down: Set<String> = []
        for step in plan.steps {
            switch step.action {
            case .kill(let name):
                #expect(down.isSubset(of: ["c"]))
                down.insert(name)
            case .stop(let name): down.insert(name)
            case .restart(let name): #expect(down.remove(name) != nil)
            case .disconnect, .reconnect: Issue.record("no device has a relay")
            }
        }
        #expect(down.isEmpty && plan.steps.count == (hasKeeper ? 12 : 10))
        #expect(plan.steps.map(\.share) == plan.steps.map(\.share).sorted())
    }
}

@Suite("Settings of a broker")
struct BrokerSettingsTests {
    @Test("the shipped configuration keeps its limits, and gets another port, folder and user")
    func shipped() {
        let text = BrokerSettings(port: 1999, folder: "/data/broker/", user: "maria").text(
            from: """
                # Comment
                listener 1883 127.0.0.1
                allow_anonymous true

                max_queued_messages 100000
                persistence true
                # persistence_location /var/lib/mosquitto
                """)
        #expect(
            text == """
                allow_anonymous true
                max_queued_messages 100000
                persistence true
                listener 1999 127.0.0.1
                persistence_location /data/broker/
                user maria
                connection_messages false

                """)
        #expect(BrokerSettings(port: 1, address: nil, folder: "/", user: "x").text(from: "").hasPrefix("listener 1\n"))
    }
}
