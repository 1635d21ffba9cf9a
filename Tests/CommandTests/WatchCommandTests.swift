import Foundation
import LockstepModel
import LockstepTestSupport
import Testing

@Suite("lockstep watch", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct WatchCommandTests {
    @Test("in a pipe, each state, presence and collector event is one line, and heartbeats are not shown")
    func lines() async throws {
        try await withSystem { system in
            let watch = try system.start("lockstep", ["watch", "--broker", system.broker.url])
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("connected to"))
            let agent = try system.startAgent("walker", ["--heartbeat", "100ms"])
            for part in [
                "collector   default/main  online",
                "presence    default/walker  foreground (start); simulate:1: running",
                "state       default/walker  active (start)",
            ] {
                #expect(await watch.waitForOutput(part), "\(watch.text)")
            }
            await agent.stop()
            #expect(await watch.waitForOutput("active → terminated (stop)"), "\(watch.text)\n\(agent.text)")
            let heartbeats = watch.text.components(separatedBy: "walker  foreground").count - 1
            #expect(heartbeats <= 2, "\(watch.text)")
            watch.signal(SIGTERM)
            #expect(await watch.waitForExit() == 0)
        }
    }

    @Test("with --json, every line is an object")
    func json() async throws {
        try await withSystem { system in
            let client = try await system.connect()
            let watch = try system.start("lockstep", ["watch", "--broker", system.broker.url, "--json"])
            let published = await client.publish(
                "lockstep/lab/phone/presence", #"{"phase":"background","at":1,"reason":"pocket"}"#, isRetained: true)
            #expect(published)
            #expect(await watch.waitForOutput("pocket"))
            let line = try #require(watch.text.split(separator: "\n").first)
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["event"] as? String == "presence")
            #expect(object?["group"] as? String == "lab")
            #expect(object?["device"] as? String == "phone")
            #expect(object?["phase"] as? String == "background")
        }
    }

    @Test("an unreachable broker is reported once, and denied access ends the command")
    func brokerErrors() async throws {
        try await withSystem(brokerSettings: ["allow_anonymous false"]) { system in
            let denied = try await RunningProgram.run(
                Programs.built("lockstep"), ["watch", "--broker", system.broker.url])
            #expect(denied.status == 1)
            #expect(denied.text.contains("check user name, password and access rights"), "\(denied.text)")
            let port = try RefusingPort()
            let alone = try await RunningProgram.run(
                Programs.built("lockstep"), ["watch", "--broker", "mqtt://127.0.0.1:\(port.number)", "--seconds", "3"])
            #expect(alone.status == 1, "it has watched nothing")
            let reason =
                "mqtt://127.0.0.1:\(port.number): Connection refused: nothing listens at this port; 'lockstep up' starts a broker on this machine"
            #expect(alone.text == "\(reason); retrying\nError: \(reason)\n")
        }
    }

    @Test(
        "on a terminal, it uses the alternate screen and restores the terminal",
        .enabled(if: Programs.isInstalled("script"), "script is not installed"), arguments: [SIGTERM, SIGINT])
    func terminal(_ signal: Int32) async throws {
        try await withSystem { system in
            let client = try await system.connect()
            let published = await client.publish(
                "lockstep/lab/phone/presence", #"{"phase":"background","at":1}"#, isRetained: true)
            #expect(published)
            let pidFile = system.folder + "/watch.pid"
            // `script` runs the program on a terminal.
            let screen = try RunningProgram(
                try #require(Programs.installed("script")),
                [
                    "-qec",
                    "echo $$ > \(pidFile); exec \(Programs.built("lockstep")) watch --broker \(system.broker.url)",
                    "/dev/null",
                ], environment: ["TERM": "xterm", "NO_COLOR": ""])
            #expect(await screen.waitForOutput("\u{1B}[1mlab/phone\u{1B}[0m"), "\(screen.text)")
            #expect(screen.text.hasPrefix("\u{1B}[?1049h\u{1B}[?25l"))
            // Clearing the whole screen would cause flicker.
            #expect(!screen.text.contains("\u{1B}[2J"))
            let pid = try #require(
                Int32(String(contentsOfFile: pidFile, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
            kill(pid, signal)
            #expect(await screen.waitForExit() == 0)
            #expect(await screen.waitForOutput("\u{1B}[?25h\u{1B}[?1049l"))
            #expect(screen.text.hasSuffix("\u{1B}[?25h\u{1B}[?1049l"), "\(screen.text)")
        }
    }

    @Test(
        "with NO_COLOR, retained messages are shown at once without colours, even on a terminal of unknown height",
        .enabled(if: Programs.isInstalled("script"), "script is not installed"))
    func withoutColours() async throws {
        try await withSystem { system in
            let client = try await system.connect()
            let published = await client.publish(
                "lockstep/lab/phone/state", #"{"state":"active","since":1,"reason":"start","seq":1}"#, isRetained: true)
            #expect(published)
            let run = try await RunningProgram.run(
                try #require(Programs.installed("script")),
                [
                    // A terminal may report no rows.
                    "-qec",
                    "stty rows 0 cols 120; \(Programs.built("lockstep")) watch --seconds 2 --broker \(system.broker.url)",
                    "/dev/null",
                ],
                environment: ["TERM": "xterm", "NO_COLOR": "1"])
            #expect(run.status == 0)
            #expect(run.text.contains("lab/phone  active"), "\(run.text)")
            #expect(!run.text.contains("\u{1B}[32m"))
        }
    }
}
