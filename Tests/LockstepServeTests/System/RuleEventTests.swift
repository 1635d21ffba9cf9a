import Foundation
import LockstepTestSupport
import Testing

@Suite("Events of rules in lockstep-serve")
struct RuleEventTests {
    private static let rules = """
        targets: {bus: {mqtt: event}}
        rules:
          high: {when: {value: pressure.pressure, above: 10}, to: bus, message: "{device} at {value}"}
          quiet: {when: {value: pressure.pressure, above: 20}, severity: info}
        """

    /// Starts a collector with rules, and publishes a batch with a value.
    private func start(_ system: TestSystem) async throws -> (TestClient, (Int, Double) async -> Bool) {
        let path = system.folder + "/rules.yaml"
        try Self.rules.write(toFile: path, atomically: true, encoding: .utf8)
        _ = try system.startCollector(["--rules", path])
        try await system.waitForSubscription()
        let client = try await system.connect(["lockstep/+/+/event/#"])
        let start = Int64(Date().timeIntervalSince1970 * 1e6)
        return (
            client,
            { number, value in
                let payload =
                    #"{"v":1,"epoch":"E1","seq":\#(number),"t":\#(start + Int64(number) * 1000),"pressure":[\#(value)]}"#
                return await client.publish("lockstep/lab/left/pressure", payload)
            }
        )
    }

    private func events(_ server: TestServer, _ query: String = "") async throws -> [[String: Any]] {
        try await server.get("/api/v1/events\(query)").json["events"] as? [[String: Any]] ?? []
    }

    private func counts(_ server: TestServer, _ query: String = "") async throws -> [Int?] {
        let json = try await server.get("/api/v1/events/count\(query)").json
        return [json["events"] as? Int, json["open"] as? Int]
    }

    @Test("they are listed, streamed to late clients, and acknowledged for everyone")
    func acknowledgement() async throws {
        try await withSystem { system in
            let (client, publish) = try await start(system)
            let server = try await TestServer(system)
            #expect(await publish(1, 11))
            try await expectEventually("the event") { try await events(server).count == 1 }
            let event = try #require(try await events(server).first)
            #expect(event["device"] as? String == "lab/left" && event["rule"] as? String == "high")
            #expect(event["text"] as? String == "left at 11" && event["acknowledged"] == nil)
            let stream = try server.events("/api/v1/events", ["-H", "Accept: text/event-stream"])
            #expect(await stream.waitForOutput("event: ready"))
            // The message may arrive later than the event is in the store.
            #expect(await stream.waitForOutput(#""text":"left at 11""#))
            // The second rule has no way out: the store knows its event.
            #expect(await publish(2, 5))
            #expect(await publish(3, 21))
            #expect(await stream.waitForOutput(#""text":"left at 21""#))
            #expect(await stream.waitForOutput(#""rule":"quiet""#))

            let id = try #require(event["id"] as? Int)
            let path = "/api/v1/events/\(id)/acknowledge"
            let answer = try await server.post(path, "")
            #expect(answer.status == 200 && answer.json["id"] as? Int == id, "\(answer)")
            let time = try #require(answer.json["acknowledged"] as? Int)
            #expect(await stream.waitForOutput(#""acknowledged":\#(time)"#))
            await expectEventually("a message for others") {
                client.messages.contains { $0.topic == "lockstep/lab/left/event/acknowledged" }
            }
            #expect(try await events(server).map { $0["acknowledged"] as? Int } == [nil, nil, time])
            #expect(try await counts(server) == [3, 2])
            #expect(try await counts(server, "?rule=quiet&device=lab/left") == [1, 1])
            let again = try await server.post(path + "?device=lab/left", "")
            #expect(again.json["acknowledged"] as? Int == time, "the first acknowledgement stays")
            let query = try await RunningProgram.run(
                Programs.built("lockstep"), ["query", "events", "--json", "--store", "sqlite:\(system.storePath)"])
            #expect(query.text.contains(#""acknowledged":\#(time)"#))

            #expect(try await server.post("/api/v1/events/99/acknowledge", "").status == 404)
            #expect(try await server.post("/api/v1/events/x/acknowledge", "").status == 400)
            #expect(try await server.post(path + "?device=lab/right", "").status == 404)
            await stream.stop()
        }
    }

    @Test("filters and pages select events of the store")
    func filters() async throws {
        try await withSystem { system in
            let (_, publish) = try await start(system)
            let server = try await TestServer(system)
            for number in 1...6 { #expect(await publish(number, number % 2 == 0 ? 21 : 5)) }
            try await expectEventually("the events") { try await events(server).count == 6 }
            #expect(try await events(server, "?rule=quiet").count == 3)
            #expect(
                try await events(server, "?severity=info").map { $0["rule"] as? String } == ["quiet", "quiet", "quiet"])
            #expect(try await counts(server, "?severity=info") == [3, 3])
            #expect(try await counts(server, "?severity=critical") == [0, 0])
            #expect(try await server.get("/api/v1/events?severity=loud").detail.contains("info, warning, critical"))
            #expect(try await events(server, "?device=lab/left&group=lab").count == 6)
            #expect(try await events(server, "?device=lab/right").isEmpty)
            #expect(try await events(server, "?group=other").isEmpty)
            #expect(try await events(server, "?device=lab/left&group=other").isEmpty)
            #expect(try await events(server, "?to=-1h").isEmpty)
            #expect(try await counts(server, "?group=lab") == [6, 6])
            #expect(try await counts(server, "?device=lab/left&group=other") == [0, 0])
            #expect(try await counts(server, "?to=-1h") == [0, 0])
            #expect(try await counts(server, "?device=lab/right") == [0, 0])
            let first = try await server.get("/api/v1/events?limit=4").json
            let next = try #require(first["next"] as? Int)
            let second = try await server.get("/api/v1/events?limit=4&before=\(next)").json
            #expect(second["next"] is NSNull)
            let pages = [first, second].map { ($0["events"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? Int } }
            #expect(pages.map(\.count) == [4, 2])
            let ids = pages.flatMap(\.self)
            #expect(ids == ids.sorted(by: >), "newest first: \(ids)")
            let refused = try await server.get("/api/v1/events?limit=1", ["-H", "Accept: text/event-stream"])
            #expect(refused.status == 400 && refused.detail.contains("'limit'"))
            #expect(try await server.get("/api/v1/events?device=x").detail.contains("GROUP/DEVICE"))
        }
    }

    @Test("without a store, those of messages are streamed and acknowledged, but nothing is listed or counted")
    func withoutStore() async throws {
        try await withSystem { system in
            let client = try await system.connect(["lockstep/+/+/event/acknowledge"])
            let program = try system.start("lockstep-serve", ["--broker", system.broker.url, "--listen", "0"])
            #expect(await program.waitForOutput("broker connected"))
            #expect(await program.waitForOutput("server started"))
            let server = try TestServer(running: program)
            for device in ["a", "b"] {
                let payload = #"{"id":7,"rule":"hot","device":"g/\#(device)","t":5,"at":6,"text":"hot","late":true}"#
                #expect(await client.publish("lockstep/g/\(device)/event", payload))
            }
            let stream = try server.events("/api/v1/events", ["-H", "Accept: text/event-stream"])
            for device in ["a", "b"] { #expect(await stream.waitForOutput(#""device":"g/\#(device)""#)) }
            for path in ["/api/v1/events", "/api/v1/events/count"] {
                let answer = try await server.get(path)
                #expect(answer.status == 503 && answer.detail.contains("--store"), "\(answer)")
            }
            let ambiguous = try await server.post("/api/v1/events/7/acknowledge", "")
            #expect(ambiguous.status == 409 && ambiguous.detail.contains("'rule'"))
            async let answer = server.post("/api/v1/events/7/acknowledge?device=g/b", "")
            await expectEventually("the request") {
                client.messages.contains { $0.topic == "lockstep/g/b/event/acknowledge" }
            }
            #expect(client.messages.last?.text == #"{"rule":"hot","t":5}"#)
            #expect(
                await client.publish(
                    "lockstep/g/b/event/acknowledged", #"{"id":7,"rule":"hot","t":5,"acknowledged":9}"#))
            #expect(try await answer.json["acknowledged"] as? Int == 9)
            #expect(await stream.waitForOutput(#""acknowledged":9"#))
            await stream.stop()
        }
    }

    @Test("an event of another collector with the same number is not acknowledged in its place")
    func otherCollector() async throws {
        try await withSystem { system in
            let requests = try await system.connect(["lockstep/+/+/event/acknowledge"])
            let (client, publish) = try await start(system)
            let server = try await TestServer(system)
            #expect(await publish(1, 11))
            try await expectEventually("the event") { try await events(server).count == 1 }
            let event = try #require(try await events(server).first)
            let id = try #require(event["id"] as? Int)
            let time = try #require(event["t"] as? Int)
            let path = "/api/v1/events/\(id)/acknowledge"
            let stream = try server.events("/api/v1/events", ["-H", "Accept: text/event-stream"])
            #expect(
                await client.publish(
                    "lockstep/other/a/event", #"{"id":\#(id),"rule":"high","t":5,"at":6,"text":"elsewhere"}"#))
            #expect(await stream.waitForOutput("elsewhere"))
            #expect(try await server.post(path, "").status == 409)
            let answer = try await server.post(path + "?rule=high&t=\(time)&device=lab/left", "")
            #expect(answer.status == 200, "\(answer)")
            #expect(requests.messages.map(\.topic) == ["lockstep/lab/left/event/acknowledge"])
            let half = try await server.post(path + "?rule=high", "")
            #expect(half.status == 400 && half.detail.contains("'t'"))
            await stream.stop()
        }
    }

    @Test("an event of the collector's machine is published and acknowledged without a device")
    func machine() async throws {
        try await withSystem { system in
            let client = try await system.connect(["lockstep/+/$collector/+/event/#"])
            let path = system.folder + "/rules.yaml"
            try "targets: {bus: {mqtt: event}}\nrules: {disk: {when: {health: disk, below: 100 %}, to: bus}}"
                .write(toFile: path, atomically: true, encoding: .utf8)
            _ = try system.startCollector(["--rules", path])
            let server = try await TestServer(system)
            try await expectEventually("the collector") {
                try await server.get("/api/v1/system").body.contains("online")
            }
            try await expectEventually("the event") { try await events(server).count == 1 }
            let event = try #require(try await events(server).first)
            #expect(event["device"] is NSNull && event["rule"] as? String == "disk")
            await expectEventually("a message") {
                client.messages.contains { $0.topic == "lockstep/default/$collector/main/event" }
            }
            // Another collector's machine has an event with the same number.
            #expect(
                await client.publish(
                    "lockstep/default/$collector/other/event", #"{"id":1,"rule":"disk","t":5,"at":6,"text":"other"}"#))
            let stream = try server.events("/api/v1/events", ["-H", "Accept: text/event-stream"])
            #expect(await stream.waitForOutput(#""text":"other""#))
            await stream.stop()
            #expect(try await server.post("/api/v1/events/1/acknowledge", "").status == 409)
            let time = try #require(event["t"] as? Int)
            let answer = try await server.post("/api/v1/events/1/acknowledge?rule=disk&t=\(time)", "")
            #expect(answer.status == 200, "\(answer)")
            #expect(try await events(server).first?["acknowledged"] as? Int == answer.json["acknowledged"] as? Int)
            await expectEventually("a confirmation") {
                client.messages.contains { $0.topic == "lockstep/default/$collector/main/event/acknowledged" }
            }
        }
    }

    @Test("a client that may only read cannot acknowledge")
    func rights() async throws {
        try await withSystem { system in
            let server = try await TestServer(system, ["--read-only"])
            let answer = try await server.post("/api/v1/events/1/acknowledge", "")
            #expect(answer.status == 403)
        }
    }
}
