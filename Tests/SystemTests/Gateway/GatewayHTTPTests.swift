import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

private let needsBroker = ConditionTrait.enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed")

private func location(_ seconds: Int, lat: Double = 50, more: String = "") -> String {
    #"{"_type":"location","lat":\#(lat),"lon":8.5,"tst":\#(seconds)\#(more)}"#
}

@Suite("Gateway by HTTP", needsBroker)
struct GatewayHTTPTests {
    private var now: Int { Int(Date().timeIntervalSince1970) }

    private func batch(_ seq: Int, at time: Int, device: String = "web", state: String = "active") -> String {
        #"{"group":"phones","device":"\#(device)","epoch":"e1","seq":\#(seq),"sent":\#(time)000,"state":"\#(state)","#
            + #""streams":[{"stream":"motion/accelerometer","samples":[[\#(time)000000,0,0,-1],[\#(time)500000,0,0,-1]]}"#
            + #",{"stream":"location","samples":[[\#(time)000000,1,2,null,5]]}]}"#
    }

    @Test("each format arrives in the store once, also if a request is repeated")
    func formats() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let gateway = try await HTTPGateway(system)
            let time = now
            for _ in 0..<2 {
                let ownTracks = try gateway.post("/owntracks?u=alice&d=phone", location(time))
                #expect(ownTracks.status == 200 && ownTracks.body == "[]")
                let other = try gateway.post(
                    "/owntracks", location(time), ["X-Limit-U: bob", "X-Limit-D: watch", "X-Other: 1"])
                #expect(other.status == 200)
                let logger =
                    #"{"messageId":1,"sessionId":"s","deviceId":"d","payload":[{"name":"barometer","time":\#(time)000000000,"values":{"pressure":1013}}]}"#
                #expect(try gateway.post("/sensorlogger", logger).status == 204)
                #expect(
                    try gateway.post("/senml", #"[{"bn":"attic:","bt":\#(time),"n":"pressure","u":"Pa","v":101325}]"#)
                        .status == 204)
                let cbor = try HTTPConnection(port: gateway.port).post(
                    "/senml?d=cellar",
                    // [{0: "pressure", 6: 1 s ago, 2: 1000, 1: "Pa"}]
                    [0x81, 0xa4, 0x00, 0x68] + Array("pressure".utf8) + [
                        0x06, 0x20, 0x02, 0x19, 0x03, 0xe8, 0x01, 0x62,
                    ]
                        + Array("Pa".utf8), headers: ["Content-Type: application/senml+cbor"])
                #expect(cbor?.status == 204)
                let join = try gateway.post("/join/api/v1/batches", batch(1, at: time))
                #expect(join.status == 200 && join.body == #"{"accepted":true,"seq":1}"#)
            }
            try await expectEventually(gateway.program.text) { try system.rows(of: "accelerometer") == 2 }
            try await expectEventually { try system.rows(of: "location") == 3 }
            // The CBOR pack has a time relative to its arrival, so that its repetition is another sample.
            try await expectEventually { try system.rows(of: "pressure") == 4 }
            #expect(try system.rows(of: "conflicts") == 0)
            let reader = try await system.reader()
            #expect(
                try reader.devices().map(\.address.description).sorted() == [
                    "default/alice-phone", "default/attic", "default/bob-watch", "default/cellar", "default/d",
                    "phones/web",
                ])
        }
    }

    @Test("OwnTracks devices of a group get each other's position and card, and nobody else does")
    func friends() async throws {
        try await withSystem { system in
            let settings = system.folder + "/gateway.yaml"
            try """
            friends: true
            map:
              owntracks/alice/phone: family/alice
              owntracks/bob/phone: family/bob
              owntracks/eve/phone: others/eve
            """.write(toFile: settings, atomically: true, encoding: .utf8)
            let gateway = try await HTTPGateway(system, ["--config", settings])
            let time = now
            let secret = #","tid":"al","SSID":"home","x":"\u0022}""#
            #expect(try gateway.post("/owntracks?u=alice&d=phone", location(time, more: secret)).body == "[]")
            let card = #"{"_type":"card","name":"Al \u0022ice","face":"iVBORw0K","tid":"al"}"#
            #expect(try gateway.post("/owntracks?u=alice&d=phone", card).status == 200)
            #expect(try gateway.post("/owntracks?u=eve&d=phone", location(time)).body == "[]")
            let answer = try gateway.post("/owntracks?u=bob&d=phone", location(time - 5)).body
            let items = try #require(try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [[String: Any]])
            #expect(items.map { $0["_type"] as? String } == ["card", "location"])
            #expect(items.first?["name"] as? String == #"Al "ice"#)
            #expect(items.last?["tst"] as? Int == time)
            #expect(items.last?["topic"] as? String == "owntracks/alice/phone")
            #expect(items.last?["SSID"] == nil)
        }
    }

    @Test("requests that can never succeed are refused with a reason, and OwnTracks does not send them again")
    func refused() async throws {
        try await withSystem { system in
            let gateway = try await HTTPGateway(system, ["--accept", "any", "--max-payload", "4K"])
            let huge = String(repeating: " ", count: 5000)
            // Tomorrow may be the present if the gateway's clock is wrong.
            let nextCentury = 3 * now
            let cases: [(path: String, body: String, status: Int)] = [
                ("/senml", "{", 400), ("/senml", huge, 413), ("/senml", "[" + String(repeating: "[", count: 4000), 400),
                ("/senml", #"[{"bn":"a:","bt":\#(nextCentury),"n":"pressure","v":1}]"#, 422),
                ("/sensorlogger", #"{"payload":[{"name":"barometer","time":1,"values":{"pressure":1}}]}"#, 403),
                ("/join/api/v1/batches", "null", 400),
                ("/join/api/v1/batches", batch(1, at: now).replacing("phones", with: "lab"), 403),
                ("/join/api/v1/batches", batch(1, at: now).replacing("active", with: "flying"), 400),
                ("/join/api/v1/batches", batch(1, at: nextCentury), 422), ("/nothing", "x", 404),
                ("/healthz", "x", 405), ("/owntracks/%", "x", 400),
            ]
            for (path, body, status) in cases {
                let answer = try gateway.post(path, body)
                #expect(answer.status == status, "\(path) \(body.prefix(80)): \(answer.body)")
                #expect(answer.head.contains("application/problem+json"), "\(path): \(answer.head)")
            }
            for body in ["{", huge, location(nextCentury), #"{"_type":"location","lat":"x","lon":1,"tst":1}"#] {
                let answer = try gateway.post("/owntracks?u=a&d=b", body)
                #expect(answer.status == 200 && answer.body == "[]" && answer.head.contains("Lockstep-Refused: "))
            }
            // A compressed body is unpacked, up to the same limit.
            for (text, encoding, status) in [
                ("H4sIAAAAAAACA4uuVspTslIqKEotLi4tSlXSUSpTsjKsjQUAs4JeLhgAAAA=", "gzip", 204),
                ("H4sIAAAAAAACA+3BQREAAAwCoCrr5a1/DVP4A3IAAAAAwNwX9ptFf4oTAAA=", "gzip", 413),
                ("aGVsbG8=", "gzip", 400), ("aGVsbG8=", "br", 415),
            ] {
                let body = try #require(Data(base64Encoded: text))
                let fields = ["Content-Encoding: \(encoding)"]
                let answer = try HTTPConnection(port: gateway.port).post("/senml?d=packed", body, headers: fields)
                #expect(answer?.status == status, "\(encoding): \(answer?.body ?? "")")
            }
            // The name of a device belongs to its first sender.
            #expect(try gateway.post("/owntracks?u=a&d=b", location(now)).status == 200)
            #expect(try gateway.post("/senml?d=a-b", #"[{"n":"pressure","v":1}]"#).status == 409)
        }
    }

    @Test("while the outbox cannot be written, requests are answered with 503 and messages stay at the broker")
    func lockedOutbox() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let gateway = try await HTTPGateway(system)
            #expect(await gateway.program.waitForOutput("connected to broker"))
            #expect(try gateway.post("/owntracks?u=a&d=b", location(now)).status == 200)
            let outbox = try SQLiteDatabase(path: system.folder + "/gateway.db")
            try outbox.execute("BEGIN IMMEDIATE")
            let refused = try gateway.post("/owntracks?u=a&d=b", location(now - 1))
            #expect(refused.status == 503)
            #expect(refused.head.contains("Retry-After"))
            // No message of the broker was lost, so its connection stays.
            #expect(gateway.program.text.contains("cannot write outbox"))
            #expect(!gateway.program.text.contains("connection lost"))
            try await system.publish([location(now - 2)], on: "owntracks/a/b")
            #expect(await gateway.program.waitForOutput("connection lost"))
            try outbox.execute("ROLLBACK")
            try await expectEventually(gateway.program.text) { try system.rows(of: "location") == 2 }
        }
    }

    @Test("users are told apart by token and by basic authentication, and others are refused")
    func users() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let file = system.folder + "/users"
            try "# users\nalice alice-token-0123456789\nbob bob-token-0123456789\n".write(
                toFile: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            let gateway = try await HTTPGateway(system, ["--accept", "any", "--users-file", file])
            func basic(_ text: String) -> [String] { ["Authorization: Basic \(Data(text.utf8).base64EncodedString())"] }
            let refused: [[String]] = [
                [], ["Authorization: Bearer wrong-token-0123456789"], basic("alice:bob-token-0123456789"),
                basic("alice"), ["Authorization: Basic %%%"], basic(":"),
            ]
            for headers in refused {
                for path in ["/owntracks?u=alice&d=phone", "/senml", "/sensorlogger", "/join/api/v1/batches"] {
                    let answer = try gateway.post(path, location(now), headers)
                    #expect(answer.status == 401 && answer.head.contains("WWW-Authenticate: Basic"))
                }
            }
            #expect(await gateway.program.waitForOutput("login refused"))
            let lines = gateway.program.text.split(separator: "\n").filter { $0.contains("login refused") }
            #expect(lines.count == 10, "\(gateway.program.text)")
            #expect(lines[0].contains("no login") && lines[0].contains("address=127.0.0.1"), "\(lines[0])")
            #expect(lines[4].contains("wrong user or token") && !lines[4].contains("user="), "\(lines[4])")
            #expect(lines[8].contains("user=alice") && lines[8].contains("path=/owntracks"), "\(lines[8])")
            // The user of the login counts, whatever the request claims.
            let claim = try gateway.post(
                "/owntracks?u=bob&d=phone", location(now), basic("alice:alice-token-0123456789"))
            #expect(claim.status == 200)
            let bearer = ["Authorization: Bearer bob-token-0123456789"]
            #expect(try gateway.post("/join/api/v1/batches", batch(1, at: now), bearer).status == 200)
            // A device of one user is closed to the others.
            let other = ["Authorization: Bearer alice-token-0123456789"]
            #expect(try gateway.post("/join/api/v1/batches", batch(1, at: now), other).status == 409)
            try await expectEventually(gateway.program.text) {
                guard let reader = try? await system.reader() else { return false }
                return try reader.devices().map(\.address.description).sorted() == [
                    "default/alice-phone", "phones/web",
                ]
            }
            #expect(!gateway.program.text.contains("token-0123456789"))
        }
    }

    @Test("a body is not waited for without a login, and one user's slow bodies leave room for those of others")
    func slowBodies() async throws {
        try await withSystem { system in
            let file = system.folder + "/users"
            try "alice alice-token-0123456789\nbob bob-token-0123456789\n".write(
                toFile: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            let gateway = try await HTTPGateway(
                system, ["--accept", "any", "--users-file", file, "--max-payload", "8M"])
            func begin(_ user: String) throws -> HTTPConnection {
                let connection = try HTTPConnection(port: gateway.port)
                connection.write(
                    Array(
                        ("POST /senml?d=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n"
                            + "Authorization: Bearer \(user)-token-0123456789\r\n\r\n[").utf8))
                return connection
            }
            #expect(try begin("wrong").read()?.status == 401)
            let slow = try [begin("alice"), begin("alice")]
            func post(_ user: String) throws -> Int {
                let headers = ["Authorization: Bearer \(user)-token-0123456789"]
                return try gateway.post("/senml?d=\(user)", #"[{"n":"pressure","v":1013}]"#, headers).status
            }
            #expect(try post("bob") == 204)
            #expect(try begin("alice").read()?.status == 503)
            #expect(try post("bob") == 204)
            withExtendedLifetime(slow) {}
        }
    }

    @Test("a user can create only some devices, but those in the settings always")
    func deviceLimit() async throws {
        try await withSystem { system in
            let file = system.folder + "/users"
            try "alice alice-token-0123456789\nbob bob-token-0123456789\n".write(
                toFile: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            let settings = system.folder + "/gateway.yaml"
            try "map:\n  senml/alice/attic: home/attic\n".write(toFile: settings, atomically: true, encoding: .utf8)
            let gateway = try await HTTPGateway(
                system, ["--accept", "any", "--users-file", file, "--max-user-devices", "2", "--config", settings])
            func post(_ user: String, _ device: String) throws -> Int {
                let headers = ["Authorization: Bearer \(user)-token-0123456789"]
                return try gateway.post("/senml?d=\(device)", #"[{"n":"pressure","v":1013}]"#, headers).status
            }
            #expect(try ["a", "b", "c", "a", "attic"].map { try post("alice", $0) } == [204, 204, 503, 204, 204])
            #expect(try post("bob", "c") == 204)
            #expect(gateway.program.text.contains("raise --max-user-devices"))
        }
    }

    @Test("the state of a page changes that of the device, but an old batch that is repeated does not")
    func pageStates() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            try await system.waitForSubscription()
            let gateway = try await HTTPGateway(system)
            let time = now - 3
            let path = "/join/api/v1/batches"
            #expect(try gateway.post(path, batch(1, at: time)).status == 200)
            #expect(await collector.waitForState("active", of: "phones/web"))
            #expect(try gateway.post(path, batch(2, at: time + 1, state: "background")).status == 200)
            #expect(await collector.waitForState("background", of: "phones/web"))
            #expect(try gateway.post(path, batch(1, at: time)).status == 200)
            #expect(try gateway.post(path, batch(3, at: time + 2, state: "terminated")).status == 200)
            #expect(await collector.waitForState("terminated", of: "phones/web"))
            #expect(!collector.text.contains("to=resumed"))
        }
    }

    @Test("slow, half-sent and foreign requests are ended, and others are answered meanwhile")
    func hostile() async throws {
        try await withSystem { system in
            let gateway = try await HTTPGateway(system)
            let silent = try HTTPConnection(port: gateway.port)
            let half = try HTTPConnection(port: gateway.port)
            half.write(Array("POST /senml HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n[".utf8))
            let vanished = try HTTPConnection(port: gateway.port)
            vanished.write(Array("POST /owntracks?u=a&d=b HTTP/1.1\r\nHost: localhost\r\nContent-Le".utf8))
            #expect(try gateway.post("/owntracks?u=a&d=b", location(now)).status == 200)
            for field in ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"] {
                #expect(try gateway.post("/owntracks?u=a&d=b", location(now), [field]).status == 403, "\(field)")
            }
            let body = Array(location(now).utf8)
            let rebound = try HTTPConnection(port: gateway.port).post(
                "/owntracks?u=a&d=b", body, host: "evil.example:\(gateway.port)")
            #expect(rebound?.status == 421)
            #expect(silent.read()?.status == 408)
            #expect(half.read()?.status == 408)
            withExtendedLifetime(vanished) {}
        }
    }

    @Test("unsafe addresses and wrong files are refused with the reason")
    func unsafeSettings() async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/users"
            try "alice short\n".write(toFile: file, atomically: true, encoding: .utf8)
            // A certificate that is followed by its key.
            let certificate = try await TestCertificate(in: folder)
            let both = folder + "/both.pem"
            try [certificate.certificate, certificate.key].map { try String(contentsOfFile: $0, encoding: .utf8) }
                .joined().write(toFile: both, atomically: true, encoding: .utf8)
            let cases: [(arguments: [String], mode: Int, text: String)] = [
                (["--listen", "0.0.0.0:0"], 0o600, "--users-file"), (["--listen", "x"], 0o600, "not an address"),
                (["--listen", "0", "--users-file", file], 0o644, "chmod 600"),
                (["--listen", "0", "--users-file", file], 0o600, "line 1: the token must have"),
                (["--listen", "0", "--server-cert-file", file], 0o600, "must be used together"),
                (["--listen", "0", "--authority-file", file], 0o600, "give ca.pem, and never a key"),
                (["--listen", "0", "--authority-file", both], 0o600, "give ca.pem, and never a key"),
                (["--listen", "0", "--page", folder], 0o600, "index.html"),
                (["--listen", "0", "--max-connections", "0"], 0o600, "whole number"),
            ]
            for (arguments, mode, text) in cases {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
                let run = try await RunningProgram.run(
                    Programs.built("lockstep-gateway"), ["--outbox", folder + "/g.db"] + arguments)
                #expect(run.status != 0 && run.text.contains(text), "\(arguments): \(run.text)")
                #expect(!run.text.contains("alice short"))
            }
        }
    }

    @Test("with a certificate the gateway speaks HTTPS only, and serves the files of its page")
    func tls() async throws {
        try await withSystem { system in
            let files = try await TestCertificate(in: system.folder)
            try FileManager.default.createDirectory(
                atPath: system.folder + "/page/assets", withIntermediateDirectories: true)
            for file in ["index.html", "assets/offline.js", "other.txt"] {
                try "text of \(file)".write(
                    toFile: system.folder + "/page/" + file, atomically: true, encoding: .utf8)
            }
            let gateway = try await HTTPGateway(
                system,
                [
                    "--accept", "any", "--server-cert-file", files.certificate, "--server-key-file", files.key,
                    "--page",
                    system.folder + "/page",
                ])
            func curl(_ path: String, _ arguments: [String] = []) async throws -> String {
                try await RunningProgram.run(
                    "/usr/bin/curl",
                    [
                        "--silent", "--include", "--max-time", "20", "--cacert", files.certificate,
                    ] + arguments + ["https://localhost:\(gateway.port)\(path)"]
                ).text
            }
            #expect(try await curl("/owntracks?u=a&d=b", ["--data", location(now)]).hasPrefix("HTTP/1.1 200"))
            let page = try await curl("/join")
            #expect(page.contains("text of index.html") && page.contains("worker-src 'self'"))
            #expect(page.contains("geolocation=(self)"))
            #expect(try await curl("/join/assets/offline.js").contains("Service-Worker-Allowed: /join"))
            for path in ["/join/other.txt", "/join/assets/../other.txt", "/join/assets/%2e%2e/other.txt", "/join/x"] {
                #expect(try await curl(path, ["--path-as-is"]).hasPrefix("HTTP/1.1 404"), "\(path)")
            }
            let plain = try HTTPConnection(port: gateway.port).post("/owntracks?u=a&d=b", Array(location(now).utf8))
            #expect(plain == nil)
        }
    }
}
