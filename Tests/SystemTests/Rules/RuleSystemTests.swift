import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

/// Rules in a collector with a real broker: faults, and what is notified.
@Suite("Rules", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct RuleSystemTests {
    private static let topic = "lockstep/lab/left/pressure"

    /// A batch with one sample a second.
    private func batch(_ number: Int, at second: Int, _ values: [Double], start: Int64) -> String {
        let list = values.map { "\($0)" }.joined(separator: ",")
        let step = values.count > 1 ? #","dt":1000000"# : ""
        return
            #"{"v":1,"epoch":"E1","seq":\#(number),"t":\#(start + Int64(second) * 1_000_000)\#(step),"pressure":[\#(list)]}"#
    }

    private var now: Int64 { Int64(Date().timeIntervalSince1970 * 1e6) }

    private func rules(_ system: TestSystem, _ text: String) throws -> String {
        let path = system.folder + "/rules.yaml"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test("a collector that is killed again and again notifies each event once")
    func kills() async throws {
        try await withSystem(isPersistent: true) { system in
            let file = try rules(
                system,
                "targets: {bus: {mqtt: event}}\nrules: {high: {when: {value: pressure.pressure, above: 10}, to: bus}}")
            let client = try await system.connect(["lockstep/+/+/event"])
            var collector = try system.startCollector(["--rules", file])
            try await system.waitForSubscription()
            let start = now - 50_000_000
            for number in 1...60 {
                // Each batch passes the limit once. Every third one arrives twice.
                let text = batch(number, at: number * 2 - 120, [5, 11], start: start)
                #expect(await client.publish(Self.topic, text))
                if number % 3 == 0 { #expect(await client.publish(Self.topic, text)) }
                if number % 12 == 0 {
                    await collector.stop(SIGKILL)
                    collector = try system.startCollector(["--rules", file])
                }
            }
            let reader = try await system.reader()
            try await expectEventually { try reader.events().count >= 60 && reader.deliveries(.pending).isEmpty }
            let events = try reader.events()
            let expected = (1...60).map { (number: Int) -> Int64 in start + Int64(number * 2 - 119) * 1_000_000 }
            #expect(events.map(\.event.time.microseconds) == expected)
            #expect(try reader.deliveries(.dead).isEmpty)
            // An MQTT message may repeat after a kill, and the client gets it after the collector knows that the broker has
            // it.
            await expectEventually { Set(client.messages.map(\.text)).count >= 60 }
            #expect(Set(client.messages.map(\.text)).count == 60)
        }
    }

    @Test("a webhook that is down at first gets each event with a valid signature, also after a kill")
    func webhookDown() async throws {
        try await withSystem(isPersistent: true) { system in
            let reserved = try WebhookServer()
            let port = reserved.port
            reserved.stop()
            let secret = system.folder + "/secret"
            try "let me in\n".write(toFile: secret, atomically: true, encoding: .utf8)
            chmod(secret, 0o600)
            let file = try rules(
                system,
                """
                targets: {desk: {webhook: "http://127.0.0.1:\(port)/hook", secret-file: \(secret)}}
                rules: {high: {when: {value: pressure.pressure, above: 10}, to: desk}}
                """)
            let client = try await system.connect(["nothing"])
            var collector = try system.startCollector(["--rules", file])
            try await system.waitForSubscription()
            #expect(await client.publish(Self.topic, batch(1, at: 0, [5, 11], start: now)))
            let reader = try await system.reader()
            try await expectEventually { try reader.deliveries(.pending).first?.attempts ?? 0 >= 1 }
            await collector.stop(SIGKILL)
            collector = try system.startCollector(["--rules", file])
            #expect(await collector.waitForOutput("connected to"))
            let server = try WebhookServer(port: port)
            defer { server.stop() }
            try await expectEventually { try reader.deliveries(.pending).isEmpty }
            let request = try #require(server.requests.first)
            #expect(server.requests.count == 1)
            #expect(request.headers["lockstep-event"] == "1")
            #expect(request.body.contains(#""rule":"high","device":"lab/left""#))
            #expect(request.body.contains(#""severity":"warning""#))
            try request.body.write(toFile: system.folder + "/body", atomically: true, encoding: .utf8)
            let digest = try await RunningProgram.run(
                "/bin/sh", ["-c", "openssl dgst -sha256 -hmac 'let me in' < \(system.folder)/body"])
            let expected = digest.text.split(separator: " ").last?.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(request.headers["lockstep-signature"] == "sha256=\(expected ?? "")")
            server.answer(422)
            #expect(await client.publish(Self.topic, batch(2, at: 10, [5, 11], start: now)))
            try await expectEventually { try reader.deliveries(.dead).count == 1 }
            let dead = try await RunningProgram.run(
                Programs.built("lockstep"), ["deliveries", "--dead", "--store", "sqlite:\(system.storePath)"])
            #expect(dead.text.contains("status 422"))
        }
    }

    @Test(
        "a recipient whom the mail server refuses does not keep a mail from the others, and is given up with the reply",
        .enabled(if: Programs.referencePython != nil, "Python with the reference packages is missing: run deploy/check")
    )
    func refusedRecipient() async throws {
        try await withSystem { system in
            let port = try freePort()
            let server = try RunningProgram(
                Programs.referencePython ?? "", [Programs.source("Tests/SystemTests/Rules/smtp_server.py"), "\(port)"])
            defer { server.signal(SIGKILL) }
            #expect(await server.waitForOutput("listening"), "\(server.text)")
            let file = try rules(
                system,
                """
                targets: {post: {mail: "smtp://127.0.0.1:\(port)", from: lockstep@example.org, to: [ann@example.org, unknown@example.org, ben@example.org]}}
                rules: {high: {when: {value: pressure.pressure, above: 10}, to: post}}
                """)
            let collector = try system.startCollector(["--rules", file])
            try await system.waitForSubscription()
            let client = try await system.connect(["nothing"])
            #expect(await client.publish(Self.topic, batch(1, at: 0, [5, 11], start: now)))
            let reader = try await system.reader()
            try await expectEventually("\(collector.text)\(server.text)") {
                try reader.deliveries(.dead).count == 1 && reader.deliveries(.pending).isEmpty
            }
            for name in ["ann", "ben"] {
                #expect(await server.waitForOutput("message to \(name)@example.org Subject: "), "\(server.text)")
            }
            let attempts = server.text.split(separator: "\n").count { $0 == "recipient unknown@example.org" }
            #expect(attempts == 1, "\(server.text)")
            let dead = try await RunningProgram.run(
                Programs.built("lockstep"), ["deliveries", "--dead", "--store", "sqlite:\(system.storePath)"])
            #expect(dead.text.contains("post/unknown@example.org"), "\(dead.text)")
            #expect(dead.text.contains("the mail server answered: 550 5.1.1 no such user here"), "\(dead.text)")
        }
    }

    @Test(
        "a rule starts a session in the past, marks it, and another one stops it, once each, with a collector that is killed"
    )
    func sessions() async throws {
        try await withSystem { system in
            let file = try rules(
                system,
                """
                targets:
                  film: {record: start, session: "{device} away", before: 2s, rates: {motion/accelerometer: 100}, labels: {by: rule}}
                  note: {record: mark}
                  cut: {record: stop, session: "{device} away"}
                rules:
                  away: {when: {state: background}, to: [film, note], message: "{device} is away"}
                  back: {when: {state: [active, resumed]}, to: [note, cut]}
                """)
            var collector = try system.startCollector(["--rules", file])
            try await system.waitForSubscription()
            let agent = try system.startAgent("left", ["--group", "lab"])
            let client = try await system.connect(["lockstep/lab/#"])
            let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left"))
            let reader = try await system.reader()
            func stored() throws -> ClosedRange<Timestamp>? {
                try reader.timeRanges(of: .accelerometer, devices: [device])[device]
            }
            try await expectEventually("samples before the trigger") {
                try stored().map { $0.upperBound - $0.lowerBound > 3_000_000 } ?? false
            }
            #expect(await client.publish("lockstep/lab/left/command", #"{"phase":"background"}"#))
            try await expectEventually("the event") { try !reader.events().isEmpty }
            await collector.stop(SIGKILL)
            collector = try system.startCollector(["--rules", file])
            try await expectEventually("the session") { try reader.sessions().first?.state == .recording }
            let started = try #require(try reader.sessions().first)
            let event = try #require(try reader.events().first { $0.event.rule == "away" })
            #expect(started.start == event.event.time - 2_000_000 && started.key.id.rawValue == "left-away")
            #expect(started.rates == ["motion/accelerometer": 100] && started.labels == ["by": "rule"])
            // Samples from before the trigger belong to it.
            var before = 0
            try reader.query(
                stream: .accelerometer, group: device.group, devices: [device.device], from: started.start,
                to: event.event.time
            ) { _ in before += 1 }
            #expect(before > 50, "the samples of the two seconds before the event")
            #expect(await client.publish("lockstep/lab/left/command", #"{"phase":"foreground"}"#))
            try await expectEventually("the end") { try reader.sessions().first?.state == .complete }
            let sessions = try reader.sessions()
            let stop = try #require(
                try reader.events().first { $0.event.rule == "back" && $0.event.time > event.event.time })
            #expect(sessions.count == 1 && sessions[0].end == stop.event.time)
            #expect(sessions[0].markers.map(\.text).prefix(1) == ["left is away"] && sessions[0].markers.count == 2)
            #expect(try reader.deliveries(.pending).isEmpty && reader.deliveries(.dead).isEmpty)
            // People do the same with a command: a session that is over is complete at once.
            let past = try await RunningProgram.run(
                Programs.built("lockstep"),
                [
                    "record", "start", "past", "--group", "lab", "--at", "-2s", "--for", "1s", "--broker",
                    system.broker.url,
                ])
            #expect(past.status == 0 && past.text.contains("past (lab/past): complete"), "\(past.text)")
            let session = try #require(try reader.sessions().first { $0.name == "past" })
            #expect(
                session.end == session.start.map { $0 + 1_000_000 }
                    && session.created > (session.end ?? session.created))
            await agent.stop()
            await collector.stop()
        }
    }

    @Test("a faulty file is refused at SIGHUP, and a good one replaces the rules")
    func reload() async throws {
        try await withSystem { system in
            let rule = { (limit: String) in "rules: {high: {when: {value: pressure.pressure, above: \(limit)}}}" }
            let file = try rules(system, rule("10"))
            let collector = try system.startCollector(["--rules", file])
            try await system.waitForSubscription()
            _ = try rules(system, rule("warm"))
            collector.signal(SIGHUP)
            #expect(await collector.waitForOutput("'warm' is not a number"))
            let client = try await system.connect(["nothing"])
            let start = now
            #expect(await client.publish(Self.topic, batch(1, at: 0, [5, 11], start: start)))
            let reader = try await system.reader()
            try await expectEventually { try reader.events().count == 1 }
            _ = try rules(system, rule("20"))
            collector.signal(SIGHUP)
            await expectEventually { collector.text.components(separatedBy: "rules loaded").count == 3 }
            #expect(await client.publish(Self.topic, batch(2, at: 10, [5, 11, 21], start: start)))
            try await expectEventually { try reader.events().count == 2 }
            #expect(try reader.events().last?.event.value == 21)
        }
    }

    @Test("backlog of an outage is marked late, and a command gets its arguments without a shell")
    func backlogAndCommand() async throws {
        try await withSystem { system in
            let script = system.folder + "/record"
            try "#!/bin/sh\nprintf '%s\\n' \"$@\" >> '\(system.folder)/told'\n"
                .write(toFile: script, atomically: true, encoding: .utf8)
            chmod(script, 0o755)
            let file = try rules(
                system,
                """
                targets: {run: {command: [\(script), "{message}", "$(id) {rule}"]}}
                rules:
                  high: {when: {value: pressure.pressure, above: 10}, to: run, message: "{device} at {value}; late?"}
                  fresh: {when: {value: pressure.pressure, above: 10}, late: ignore}
                """)
            _ = try system.startCollector(["--rules", file])
            try await system.waitForSubscription()
            let client = try await system.connect(["nothing"])
            let start = now
            #expect(await client.publish(Self.topic, batch(1, at: -7200, [5], start: start)))
            #expect(await client.publish(Self.topic, batch(3, at: 0, [6], start: start)))
            #expect(await client.publish(Self.topic, batch(2, at: -3600, [5, 11, 5], start: start)))
            let reader = try await system.reader()
            try await expectEventually { try reader.events().count == 1 }
            #expect(try reader.events().map(\.event.isLate) == [true])
            #expect(try reader.events().map(\.event.rule) == ["high"])
            await expectEventually {
                (try? String(contentsOfFile: system.folder + "/told", encoding: .utf8))
                    == "left at 11; late?\n$(id) high\n"
            }
            let query = try await RunningProgram.run(
                Programs.built("lockstep"), ["query", "events", "--csv", "--store", "sqlite:\(system.storePath)"])
            #expect(query.text.contains(",lab/left,high,11.0,1,left at 11; late?"))
            let test = try await RunningProgram.run(
                Programs.built("lockstep"),
                ["rules", "test", file, "--csv", "--store", "sqlite:\(system.storePath)"])
            #expect(test.text.components(separatedBy: ",lab/left,high,11.0,0,").count == 2)
        }
    }
}
