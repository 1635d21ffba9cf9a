import Foundation
import LockstepTestSupport
import Testing

@Suite("lockstep-serve with a broker and a store")
struct ServerTests {
    @Test("devices, samples, states and commands of a running system are served")
    func system() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            _ = try system.startAgent("arm", ["--group", "lab"])
            let server = try await TestServer(system)
            try await expectEventually("ready") { try await server.get("/readyz").status == 200 }
            try await expectEventually("stored samples") {
                try await server.get("/api/v1/devices/lab/arm/streams/motion/accelerometer").body.contains("[[")
            }
            let device = try await server.get("/api/v1/devices/lab/arm").json
            #expect(device["state"] as? String == "active" && device["phase"] as? String == "foreground")
            let list = try await server.get("/api/v1/devices?group=lab").json["devices"] as? [[String: Any]]
            #expect(list?.map { $0["device"] as? String } == ["arm"])
            #expect(try await server.get("/api/v1/devices?group=other").body.contains("\"devices\":[]"))

            let path = "/api/v1/devices/lab/arm/streams/motion/accelerometer"
            let rows = try await server.get("\(path)?limit=2").json
            #expect(rows["kind"] as? String == "samples" && (rows["rows"] as? [[Any]])?.map(\.count) == [4, 4])
            #expect(rows["next"] is NSNumber)
            try await expectEventually("an estimate of the clock") {
                let health = try await server.get("/api/v1/devices/lab/arm/health").json["clock"] as? [String: Any]
                return health?["bound_us"] is NSNumber && health?["collector"] as? String == "main"
            }
            let shared = try await server.get("\(path)?limit=2&time=collector").json
            #expect((shared["columns"] as? [String])?.last == "bound_us" && shared["next"] is NSNumber)
            #expect((shared["rows"] as? [[NSNumber]])?.map(\.count) == [5, 5], "\(shared)")
            let newest = try #require((shared["rows"] as? [[NSNumber]])?.last?.first?.int64Value)
            let plot = try await server.get("\(path)?points=50&to=\(newest + 1_000_000)&time=collector").json
            #expect((plot["columns"] as? [String]) == ["x", "y", "z", "bound_us"] && plot["step"] is NSNumber)
            #expect((plot["rows"] as? [[NSNumber]])?.first?.count == 9, "\(plot)")
            let one = try await server.get("\(path)?points=20000&time=collector&limit=1").json
            #expect((one["rows"] as? [[NSNumber]])?.count == 1 && one["next"] is NSNumber)
            let envelope = try await server.get("\(path)?points=1").json
            #expect(envelope["kind"] as? String == "envelope" && (envelope["rows"] as? [[Any]])?.first?.count == 8)
            let cut = try await server.get("\(path)?points=20000&limit=1").json
            #expect((cut["rows"] as? [[Any]])?.count == 1 && cut["next"] is NSNumber)
            let average = try await server.get("\(path)?every=1h").json
            #expect(average["step"] as? Int == 3_600_000_000 && (average["rows"] as? [[Any]])?.first?.count == 5)
            let csv = try await server.get("\(path)?format=csv&limit=1")
            #expect(csv.headers["content-type"]?.hasPrefix("text/csv") == true)
            #expect(csv.body.hasPrefix("group,device,stream,t,time,x,y,z\nlab,arm,"))
            #expect(try await server.get("\(path)?format=ndjson&limit=1").body.hasPrefix("{\"group\":\"lab\""))
            #expect(try await server.get("\(path)?format=mcap").headers["content-type"] == "application/octet-stream")
            #expect(try await server.get("\(path)?format=gpx").status == 400)
            let track = "/api/v1/devices/lab/arm/streams/location"
            try await expectEventually("a stored fix") {
                try await server.get("\(track)?format=gpx").body.contains("<trkpt ")
            }
            let gpx = try await server.get("\(track)?format=gpx")
            #expect(gpx.headers["content-type"] == "application/gpx+xml" && gpx.body.hasSuffix("</gpx>\n"))
            #expect(try await server.get("\(track)?format=gpx&points=10").status == 400)
            let collection = try await server.get("\(track)?format=geojson&to=-1s").json
            #expect((collection["features"] as? [Any])?.isEmpty == false, "\(collection)")

            let states = try await server.get("/api/v1/devices/lab/arm/states").json["states"] as? [[String: Any]]
            #expect(states?.first?["state"] as? String == "active" && states?.first?["seq"] as? Int == 1)
            #expect(try await server.get("/api/v1/devices/lab/arm/walk").json.keys.contains("average_pace"))
            #expect(try await server.get("/api/v1/devices/lab/arm/health").json["conflicts"] as? Int == 0)
            try await expectEventually("the collector's report") {
                try await server.get("/api/v1/system").body.contains("\"status\":\"online\"")
            }

            let commands = "/api/v1/devices/lab/arm/commands"
            let reply = try await server.post(commands, #"{"phase":"background"}"#)
            #expect(reply.status == 200 && reply.json["phase"] as? String == "background")
            try await expectEventually("the phase") {
                try await server.get("/api/v1/devices/lab/arm").json["phase"] as? String == "background"
            }
            #expect(try await server.post(commands, #"{"phase":"asleep"}"#).status == 400)
            #expect(try await server.post("/api/v1/devices/lab/none/commands", #"{"flush":true}"#).status == 404)
            // The agent has no such source, so it refuses.
            let refused = try await server.post(
                commands, #"{"rate":{"stream":"orientation","hz":1,"lease_s":60}}"#)
            #expect([200, 409].contains(refused.status), "\(refused)")
        }
    }

    @Test("a long result is complete although it is sent in parts")
    func longResult() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect(["none"])
            // 60,000 samples are six pages.
            for batch in 0..<12 {
                #expect(await client.publish("lockstep/lab/bulk/pressure", Self.batch(batch, samples: 5000)))
            }
            let server = try await TestServer(system)
            let path = "/api/v1/devices/lab/bulk/streams/pressure?from=0&to=31d"
            let query = path.replacing("31d", with: "2600000000000")
            try await expectEventually("all samples") {
                try await server.get(query).json["rows"].map { ($0 as? [Any])?.count == 60_000 } ?? false
            }
            let csv = try await server.get("\(query)&format=csv").body.split(separator: "\n").dropFirst()
            let times = csv.compactMap { Int($0.split(separator: ",")[3]) }
            #expect(times == Array(stride(from: 1000, through: 60_000_000, by: 1000)))
        }
    }

    /// A live batch of consecutive samples of pressure, 1 ms apart.
    static func batch(_ number: Int, samples: Int) -> String {
        let values = Array(repeating: "1013.25", count: samples).joined(separator: ",")
        return #"{"v":1,"epoch":"e","seq":\#(number + 1),"t":\#(number * samples * 1000 + 1000),"dt":1000,"#
            + #""pressure":[\#(values)]}"#
    }

    @Test("a deletion is previewed, requested and listed; the collector carries it out")
    func deletion() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect(["none"])
            #expect(await client.publish("lockstep/lab/bulk/pressure", Self.batch(0, samples: 100)))
            let server = try await TestServer(system)
            let path = "/api/v1/devices/lab/bulk/deletions"
            let range = #""stream":"pressure","from":1000,"to":51000"#
            try await expectEventually("all samples") {
                try await server.post(path, "{\(range),\"dry_run\":true}").json["samples"] as? Int == 50
            }
            #expect(try await server.get(path).body == #"{"deletions":[]}"#)
            let requested = try await server.post(path, #"{\#(range),"reason":"wrong"}"#)
            #expect(requested.status == 202 && requested.json["samples"] as? Int == 50, "\(requested)")
            try await expectEventually("the end of the deletion") {
                let list = try await server.get(path).json["deletions"] as? [[String: Any]]
                return list?.first?["done"] is NSNumber && list?.first?["count"] as? Int == 50
                    && list?.first?["id"] as? String == requested.json["id"] as? String
            }
            let rows = try await server.get("/api/v1/devices/lab/bulk/streams/pressure?from=0&to=1000000").json["rows"]
            #expect((rows as? [Any])?.count == 50)
            for body in ["{}", #"{"from":5,"to":5}"#, #"{"all":true,"to":5}"#, "[]"] {
                #expect(try await server.post(path, body).status == 400, "\(body)")
            }
            #expect(try await server.post(path, #"{"all":true,"stream":"nope"}"#).status == 404)
            #expect(try await server.post("/api/v1/devices/lab/none/deletions", #"{"all":true}"#).status == 404)
        }
    }

    @Test("bad requests get problem documents that name the mistake")
    func badRequests() async throws {
        try await withSystem { system in
            let server = try await TestServer(system)
            let cases: [(path: String, status: Int, text: String)] = [
                ("/nope", 404, "/openapi.json"), ("/api/v1/devices?nope=1", 400, "'nope'"),
                ("/api/v1/devices?group=a%2Fb", 400, "a/b"), ("/api/v1/devices/lab/none", 404, "lab/none"),
                ("/api/v1/devices/l%20b/none", 400, "group"), ("/api/v1/devices/%ff/x", 400, "UTF-8"),
                ("/api/v1/devices/lab/none/streams/nope", 404, "unknown stream 'nope'"),
                ("/api/v1/devices/lab/none/streams/location?from=-100d", 400, "31 days"),
                ("/api/v1/devices/lab/none/streams/location?from=x", 400, "not a time"),
                ("/api/v1/live", 400, "device="), ("/api/v1/live?device=x", 400, "GROUP/DEVICE"),
                ("/api/v1/live?device=*&hz=1000", 400, "0.1 to 60"), ("/api/v1/fleet?every=1ms", 400, "1s to 1h"),
                ("/assets/../openapi.json", 404, "no file"), ("/assets/%2e%2e/openapi.json", 404, "no file"),
            ]
            for (path, status, text) in cases {
                let answer = try await server.get(path)
                #expect(answer.status == status && answer.detail.contains(text), "\(path): \(answer)")
                #expect(answer.headers["content-type"] == "application/problem+json", "\(path)")
            }
            let method = try await server.get("/api/v1/devices", ["--request", "PATCH"])
            #expect(method.status == 405 && method.headers["allow"] == "GET, HEAD")
            let session = "/api/v1/session"
            #expect(try await server.get(session, ["--data", "x"]).status == 415)
            #expect(try await server.post(session, "{").status == 400)
            #expect(try await server.post(session, String(repeating: " ", count: 20_000)).status == 413)
            #expect(
                try await server.post(
                    session, String(repeating: " ", count: 20_000), ["-H", "Transfer-Encoding: chunked"]
                )
                .status == 413)
            #expect(try await server.get("/healthz", ["--head"]).status == 200)
            for path in ["live?device=*", "states", "fleet"] {
                let head = try await server.get("/api/v1/" + path, ["--head"])
                #expect(head.status == 200 && head.headers["content-type"] == "text/event-stream", "\(path)")
                #expect(head.headers["x-accel-buffering"] == "no" && head.headers["cache-control"] == "no-store")
            }
            #expect(try await server.get("/api/v1/live", ["--head"]).status == 400)
            #expect(
                try await server.get("/healthz", ["-H", "X: \(String(repeating: "x", count: 40_000))"]).status == 400)
        }
    }

    @Test("the page and the description are served with headers that forbid everything else")
    func page() async throws {
        try await withSystem { system in
            let folder = system.folder + "/page"
            try FileManager.default.createDirectory(atPath: folder + "/assets", withIntermediateDirectories: true)
            try "<!doctype html>".write(toFile: folder + "/index.html", atomically: true, encoding: .utf8)
            try "export {}".write(toFile: folder + "/assets/a.js", atomically: true, encoding: .utf8)
            let server = try await TestServer(
                system, ["--page", folder, "--tiles", "https://tiles.example/{z}/{x}/{y}.png"])
            let page = try await server.get("/")
            #expect(page.body == "<!doctype html>" && page.headers["content-type"] == "text/html; charset=utf-8")
            let policy = page.headers["content-security-policy"] ?? ""
            #expect(policy.contains("default-src 'none'") && policy.contains("'self' data: https://tiles.example;"))
            #expect(page.headers["x-content-type-options"] == "nosniff")
            #expect(page.headers["referrer-policy"] == "no-referrer")
            let script = try await server.get("/assets/a.js")
            #expect(script.headers["content-type"] == "text/javascript; charset=utf-8")
            let tag = try #require(script.headers["etag"])
            #expect(try await server.get("/assets/a.js", ["-H", "If-None-Match: \(tag)"]).status == 304)
            #expect(try await server.get("/api/v1/session").headers["cache-control"] == "no-store")
        }
    }

    @Test("the page names its files by their version, in one file of each kind, which browsers keep")
    func versions() async throws {
        try await withSystem { system in
            let server = try await TestServer(system)
            let page = try await server.get("/")
            #expect(
                page.headers["cache-control"] == "no-store"
                    && page.body.contains("id=\"session\">{\"token_required\":false"))
            #expect(page.body.contains("id=\"devices\">{"))
            let path = String(try #require(page.body.firstMatch(of: /src="(\/assets\/v-[0-9a-z]+\/main\.js)"/)).1)
            let script = try await server.get(path)
            #expect(script.body.contains("// core/api.js") && !script.body.contains("\nimport "))
            #expect(script.headers["cache-control"]?.contains("immutable") == true)
            let packed = try await server.get(path, ["--compressed"])
            #expect(packed.body == script.body && packed.headers["content-encoding"] == "gzip")
            #expect(Int(packed.headers["content-length"] ?? "").map { $0 < script.body.utf8.count / 2 } == true)
            #expect(try await server.get("/api/v1/system", ["--compressed"]).status == 200)
            let styles = try await server.get(path.replacing("main.js", with: "style.css")).body
            #expect(styles.contains("--accent") && !styles.contains("@import"))
            // A window of another version gets the present file, and does not keep it.
            let other = try await server.get("/assets/v-0/main.js")
            #expect(other.status == 200 && other.headers["cache-control"] == "no-cache")
            #expect(try await server.get("/assets/v-0/%2e%2e/index.html").status == 404)
            let events = try server.events("/api/v1/fleet", ["--compressed"])
            #expect(await events.waitForOutput("event: "))
        }
    }

    @Test("a missing broker and a missing store are reported, and used as soon as they are there")
    func recovery() async throws {
        try await withSystem { system in
            await system.broker.stop()
            let server = try await TestServer(system)
            let answer = try await server.get("/readyz")
            #expect(answer.status == 503 && answer.detail.contains("broker:") && answer.detail.contains("store:"))
            #expect(try await server.get("/healthz").status == 200)
            #expect(try await server.get("/api/v1/system").body.contains("\"configured\":true,\"readable\":false"))
            try await system.broker.start()
            _ = try system.startCollector()
            try await expectEventually("ready") { try await server.get("/readyz").status == 200 }
        }
    }

    @Test("SIGTERM ends event streams with a reason, and the program at once")
    func termination() async throws {
        try await withSystem { system in
            let server = try await TestServer(system)
            let events = try server.events("/api/v1/states")
            #expect(await events.waitForOutput("event: ready"))
            server.program.signal(SIGTERM)
            #expect(await server.program.waitForExit(within: .seconds(20)) == 0)
            #expect(await events.waitForExit() == 0)
            #expect(events.text.contains("event: end"))
            #expect(server.program.text.contains("server stopped"))
        }
    }

    @Test("a killed server does not disturb the collector")
    func killed() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            let agent = try system.startAgent("a")
            let server = try await TestServer(system)
            let events = try server.events("/api/v1/live?device=*")
            #expect(await events.waitForOutput("event: samples"))
            server.program.signal(SIGKILL)
            #expect(await server.program.waitForExit() == SIGKILL)
            await events.waitForExit()
            await agent.stop()
            try await system.drain("a")
            #expect(collector.isRunning)
            #expect(try await system.verify(["a"]).status == 0)
        }
    }

    @Test("without a store, the server is ready as soon as the broker is connected")
    func liveOnly() async throws {
        try await withSystem { system in
            let program = try system.start("lockstep-serve", ["--broker", system.broker.url, "--listen", "0"])
            #expect(await program.waitForOutput("server started"))
            let port = try #require(program.text.firstMatch(of: /address=http:\/\/[^ ]*?:([0-9]+)\//)).1
            try await expectEventually("ready") {
                try await RunningProgram.run(
                    "/usr/bin/curl", ["--silent", "--fail", "http://127.0.0.1:\(port)/readyz"]
                ).status == 0
            }
            let second = try await RunningProgram.run(
                Programs.built("lockstep-serve"), ["--broker", system.broker.url, "--listen", "\(port)"])
            #expect(second.status != 0)
            // Neither a log of a started server nor an error of the HTTP library.
            #expect(
                second.text.hasPrefix("Error: --listen 127.0.0.1:\(port): another program uses this port"),
                "\(second.text)")
        }
    }
}
