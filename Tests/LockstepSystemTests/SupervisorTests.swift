import LockstepModel
import LockstepTestSupport
import Testing

@Suite("Supervisor")
struct SupervisorTests {
    @Test("readiness, each change of the status, and the shutdown are each reported once")
    func notifications() async throws {
        try await withTemporaryFolder { folder in
            let receiver = try NotifyReceiver(address: folder + "/notify")
            let supervisor = Supervisor(environment: ["NOTIFY_SOCKET": receiver.address])
            #expect(supervisor.nextTurn == nil)
            supervisor.didTurn("all is\nwell")
            supervisor.didTurn("all is\nwell")
            #expect(receiver.lines == ["READY=1", "STATUS=all is well"])
            await expectEventually(within: .seconds(120)) {
                supervisor.didTurn("tired")
                return receiver.lines.last == "STATUS=tired"
            }
            supervisor.willStop()
            #expect(
                receiver.lines == ["READY=1", "STATUS=all is well", "STATUS=tired", "STOPPING=1", "STATUS=stopping"])
        }
    }

    @Test("watchdog notifications are sent at half the watchdog time")
    func watchdog() async throws {
        let receiver = try NotifyReceiver(address: "@lockstep-test-\(UInt64.random(in: .min ... .max))")
        let supervisor = Supervisor(
            environment: ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "400000"])
        let start = ContinuousClock.now
        var turns = 0
        await expectEventually(within: .seconds(120)) {
            supervisor.didTurn("")
            turns += 1
            return receiver.lines.count { $0 == "WATCHDOG=1" } >= 3
        }
        #expect(ContinuousClock.now - start >= .milliseconds(590))
        #expect(turns > 3)
        let next = try #require(supervisor.nextTurn)
        #expect(next <= .now + .milliseconds(200))
    }

    @Test("the watchdog of another process is not notified")
    func otherProcess() async throws {
        try await withTemporaryFolder { folder in
            let receiver = try NotifyReceiver(address: folder + "/notify")
            let supervisor = Supervisor(
                environment: ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "2", "WATCHDOG_PID": "1"])
            #expect(supervisor.nextTurn == nil)
            supervisor.didTurn("fine")
            #expect(receiver.lines == ["READY=1", "STATUS=fine"])
        }
    }

    @Test("notifications that do not fit into the socket buffer are sent with a later turn")
    func full() async throws {
        try await withTemporaryFolder { folder in
            let receiver = try NotifyReceiver(address: folder + "/notify")
            let sender = Supervisor(environment: ["NOTIFY_SOCKET": receiver.address])
            // More datagrams than any socket buffer holds.
            for _ in 0..<5000 { sender.willStop() }
            let supervisor = Supervisor(environment: ["NOTIFY_SOCKET": receiver.address])
            supervisor.didTurn("fine")
            let before = receiver.lines
            #expect(!before.contains("READY=1"))
            supervisor.didTurn("fine")
            #expect(receiver.lines.suffix(2) == ["READY=1", "STATUS=fine"])
        }
    }

    @Test(
        "a missing or unreachable supervisor has no effect",
        arguments: [nil, "", "relative", "/nowhere/notify", "@", "/" + String(repeating: "long", count: 30)])
    func noSupervisor(address: String?) {
        let supervisor = Supervisor(
            environment: address.map { ["NOTIFY_SOCKET": $0, "WATCHDOG_USEC": "1000"] } ?? [:])
        supervisor.didTurn("fine")
        supervisor.willStop()
    }
}
