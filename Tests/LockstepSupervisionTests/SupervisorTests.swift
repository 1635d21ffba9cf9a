import LockstepSupervision
import LockstepTestSupport
import Testing

@Suite("A supervisor")
struct SupervisorTests {
    @Test("hears that the program is ready once, how it is when that changes, and that it ends")
    func words() async throws {
        try await withTemporaryFolder { folder in
            let receiver = try NotifyReceiver(address: folder + "/notify")
            let supervisor = Supervisor(environment: ["NOTIFY_SOCKET": receiver.address])
            #expect(supervisor.nextTurn == nil)
            supervisor.turned("all is\nwell")
            supervisor.turned("all is\nwell")
            #expect(receiver.lines == ["READY=1", "STATUS=all is well"])
            await expectEventually(within: .seconds(120)) {
                supervisor.turned("tired")
                return receiver.lines.last == "STATUS=tired"
            }
            supervisor.stopping()
            #expect(receiver.lines == ["READY=1", "STATUS=all is well", "STATUS=tired", "STOPPING=1", "STATUS=ends"])
        }
    }

    @Test("hears that the loop turns twice in its time, and not more often than that")
    func watchdog() async throws {
        let receiver = try NotifyReceiver(address: "@lockstep-test-\(UInt64.random(in: .min ... .max))")
        let supervisor = Supervisor(
            environment: ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "400000"])
        let begin = ContinuousClock.now
        var turns = 0
        await expectEventually(within: .seconds(120)) {
            supervisor.turned("")
            turns += 1
            return receiver.lines.count { $0 == "WATCHDOG=1" } >= 3
        }
        #expect(ContinuousClock.now - begin >= .milliseconds(590))
        #expect(turns > 3)
        let next = try #require(supervisor.nextTurn)
        #expect(next <= .now + .milliseconds(200))
    }

    @Test("of another process hears nothing of turns")
    func otherProcess() async throws {
        try await withTemporaryFolder { folder in
            let receiver = try NotifyReceiver(address: folder + "/notify")
            let supervisor = Supervisor(
                environment: ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "2", "WATCHDOG_PID": "1"])
            #expect(supervisor.nextTurn == nil)
            supervisor.turned("fine")
            #expect(receiver.lines == ["READY=1", "STATUS=fine"])
        }
    }

    @Test("that has no room now hears it with a later turn")
    func full() async throws {
        try await withTemporaryFolder { folder in
            let receiver = try NotifyReceiver(address: folder + "/notify")
            let crowd = Supervisor(environment: ["NOTIFY_SOCKET": receiver.address])
            // Far more than any queue of datagrams holds: what does not fit is kept, together, for later.
            for _ in 0..<5000 { crowd.stopping() }
            let supervisor = Supervisor(environment: ["NOTIFY_SOCKET": receiver.address])
            supervisor.turned("fine")
            let before = receiver.lines
            #expect(!before.contains("READY=1"))
            supervisor.turned("fine")
            #expect(receiver.lines.suffix(2) == ["READY=1", "STATUS=fine"])
        }
    }

    @Test(
        "that is none, or none that can be reached, changes nothing",
        arguments: [nil, "", "relative", "/nowhere/notify", "@", "/" + String(repeating: "long", count: 30)])
    func nobody(address: String?) {
        let supervisor = Supervisor(
            environment: address.map { ["NOTIFY_SOCKET": $0, "WATCHDOG_USEC": "1000"] } ?? [:])
        supervisor.turned("fine")
        supervisor.stopping()
    }
}
