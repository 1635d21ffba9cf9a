import Foundation
import LockstepSystem
import LockstepTestSupport
import Synchronization
import Testing

@Suite("Child processes")
struct RunningProgramTests {
    private func events(of script: String) async throws -> [RunningProgram.Event] {
        let (events, continuation) = AsyncStream<RunningProgram.Event>.makeStream()
        let program = try RunningProgram("/bin/sh", ["-c", script]) { event in
            continuation.yield(event)
            if case .ended = event { continuation.finish() }
        }
        let result = await events.reduce(into: []) { $0.append($1) }
        #expect(!program.isRunning)
        return result
    }

    @Test("lines are reported in order, and all of them before the end")
    func lines() async throws {
        let events = try await events(of: "echo one; echo two >&2; printf three; exit 3")
        #expect(events == [.line("one"), .line("two"), .line("three"), .ended(.exit(3))])
    }

    @Test("a signal that kills the process is its status")
    func killed() async throws {
        #expect(try await events(of: "kill -9 $$") == [.ended(.signal(9))])
    }

    @Test("readiness and status are reported", .enabled(if: Programs.isInstalled("python3"), "python3 is missing"))
    func ready() async throws {
        let script = """
            python3 -c 'import os, socket
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.connect("\\0" + os.environ["NOTIFY_SOCKET"][1:])
            s.send(b"READY=1\\nSTATUS=two devices\\n")'
            """
        #expect(try await events(of: script) == [.ready, .status("two devices"), .ended(.exit(0))])
    }

    @Test("a missing program is an error")
    func missing() {
        #expect(throws: ProgramError.self) { try RunningProgram("/no/such/program") }
    }

    @Test("the input is the standard input, and there is no other open file")
    func files() async throws {
        let run = try RunningProgram("/bin/sh", ["-c", "cat; ls /proc/self/fd | wc -l"], input: "text\n")
        #expect(await run.waitForExit() == 0)
        // 0, 1, 2, and the folder that `ls` reads.
        #expect(run.text.split(whereSeparator: \.isWhitespace) == ["text", "4"])
    }

    @Test("signals have their default action and are not blocked")
    func signals() async throws {
        let run = try RunningProgram("/bin/sh", ["-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status"])
        #expect(await run.waitForExit() == 0)
        #expect(!run.text.contains(/[1-9a-f]$/.anchorsMatchLineEndings()), "\(run.text)")
    }

    @Test("of a long output, the end is kept")
    func limit() async throws {
        let run = try RunningProgram("/bin/sh", ["-c", "seq 100000"], keeping: 100)
        #expect(await run.waitForExit() == 0)
        #expect(run.text.hasSuffix("99999\n100000\n") && run.text.utf8.count <= 200 + (1 << 16))
    }
}

@Suite("Relay")
struct RelayTests {
    @Test("connections are forwarded, cut, and accepted again")
    func cut() throws {
        let server = try LoopbackListener()
        defer { server.close() }
        let relay = try Relay(to: server.port)
        for _ in 1...2 {
            let client = try RawConnection(port: relay.port)
            let connection = try #require(server.accept())
            #expect(send(connection, "hello", 5, 0) == 5)
            #expect(client.read(until: "hello") == "hello")
            relay.cut()
            #expect(client.receive() == nil)
            #expect(!canConnect(port: relay.port))
            close(connection)
            try relay.restore()
            // Nothing to restore.
            try relay.restore()
        }
        relay.cut()
    }
}
