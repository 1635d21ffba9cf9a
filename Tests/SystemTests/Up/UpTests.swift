import Foundation
import FoundationNetworking
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep up", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct UpTests {
    @Test("a system starts, stores samples, restarts a killed part, and leaves no process after Ctrl-C")
    func whole() async throws {
        try await withUp { up in
            #expect(await up.program.waitForOutput("agent on another machine"), "\(up.text)")
            let (body, response) = try await URLSession.shared.data(from: up.page)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(String(decoding: body, as: UTF8.self).contains("<html"))

            let agent = try RunningProgram(
                Programs.built("lockstep-agent"),
                [
                    "--broker", "mqtt://127.0.0.1:\(up.port)", "--device", "walker", "--source", "simulate:1",
                    "--outbox", up.folder + "/walker.outbox", "--journal", "--window", "200ms",
                ])
            #expect(await up.program.waitForState("active", of: "default/walker"), "\(up.text)")

            let children = up.children
            #expect(
                Set(children.values) == ["mosquitto", "lockstep-collec", "lockstep-serve"], "\(children) \(up.text)")
            let collector = try #require(children.first { $0.value == "lockstep-collec" }?.key)
            kill(collector, SIGKILL)
            #expect(await up.program.waitForOutput("collector ended unexpectedly (killed by signal 9)"), "\(up.text)")
            await expectEventually("\(up.text)") { up.count("collector is ready") == 2 }

            let other = try await RunningProgram.run(
                Programs.built("lockstep"), ["up", "--folder", up.folder, "--port", "\(try freePort())"])
            #expect(other.status == 1)
            #expect(other.text.contains("is running with the folder \(up.folder) already"), "\(other.text)")

            await agent.stop()
            #expect(await up.program.waitForState("terminated", of: "default/walker"), "\(up.text)")
            let verification = try await RunningProgram.run(
                Programs.built("lockstep"),
                [
                    "verify", "--store", "sqlite:\(up.folder)/samples.db", "--journal",
                    "walker=\(up.folder)/walker.outbox",
                ])
            #expect(verification.status == 0, "\(verification.text)")

            let last = up.children.keys
            #expect(last.count == 3)
            up.program.signal(SIGINT)
            #expect(await up.program.waitForExit() == 0, "\(up.text)")
            #expect(last.allSatisfy { hasEnded($0) })
            #expect(!up.text.contains("was killed") && !up.text.contains("did not stop"), "\(up.text)")
        }
    }

    @Test(
        "a phone joins by HTTPS with the authority of the folder and the printed token",
        .enabled(if: Programs.isInstalled("curl") && Programs.isInstalled("openssl"), "curl or openssl is missing"))
    func phones() async throws {
        let port = try freePort()
        try await withUp(["--phones", "--phones-port", "\(port)"]) { up in
            #expect(await up.program.waitForOutput("fingerprint to compare  "), "\(up.text)")
            for step in ["trust on iPhones ", "trust on Android ", ":\(port)/ca.pem"] {
                #expect(up.text.contains(step), "\(up.text)")
            }
            let fingerprint = try await RunningProgram.run(
                "/usr/bin/openssl",
                ["x509", "-in", up.folder + "/phones/ca.pem", "-noout", "-fingerprint", "-sha256"])
            let digits = try #require(fingerprint.text.split(separator: "=").last)
            #expect(up.text.contains(digits.trimmingCharacters(in: .newlines)), "\(up.text)")
            let certificate = try await RunningProgram.run(
                "/usr/bin/curl", ["--silent", "--insecure", "https://localhost:\(port)/ca.pem"])
            #expect(certificate.text == (try String(contentsOfFile: up.folder + "/phones/ca.pem", encoding: .utf8)))
            let token = try #require(up.text.firstMatch(of: /:\d+\/join#token=([0-9a-f]{32})/)).1
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            let sample = "[\(now)000,0,0,-1]"
            let batch = """
                {"group":"phones","device":"p","epoch":"72fb8639bfae3695","seq":1,"sent":\(now),"state":"active",\
                "streams":[{"stream":"motion/accelerometer","samples":[\(sample)]}]}
                """
            let reply = try await RunningProgram.run(
                "/usr/bin/curl",
                [
                    "--silent", "--cacert", up.folder + "/phones/ca.pem", "--header", "Authorization: Bearer \(token)",
                    "--header", "Content-Type: application/json", "--data", batch,
                    "https://localhost:\(port)/join/api/v1/batches",
                ])
            #expect(reply.text == #"{"accepted":true,"seq":1}"#, "\(reply.text) \(up.text)")
            #expect(await up.program.waitForState("active", of: "phones/p"), "\(up.text)")
        }
    }

    @Test("no program outlives a command that is killed")
    func orphans() async throws {
        try await withUp { up in
            #expect(await up.program.waitForOutput("page  "), "\(up.text)")
            let children = up.children.keys
            #expect(children.count == 3)
            up.program.signal(SIGKILL)
            await expectEventually(within: .seconds(10)) { children.allSatisfy { hasEnded($0) } }
        }
    }

    @Test("a demo with faults verifies its samples, removes its folder, and prints JSON lines on request")
    func demo() async throws {
        try await withTemporaryFolder { folder in
            // Folders of earlier commands: one that a user has named, and one of a demo that was killed.
            for (name, lock) in [("lockstep-up-mine", "1\n"), ("lockstep-up-killed", "1\ntemporary\n")] {
                try FileManager.default.createDirectory(
                    atPath: folder + "/" + name, withIntermediateDirectories: true)
                try lock.write(toFile: folder + "/\(name)/up.lock", atomically: true, encoding: .utf8)
            }
            let run = try await RunningProgram.run(
                Programs.built("lockstep"),
                ["up", "--demo", "2", "--faults", "--seconds", "10", "--no-page", "--json"],
                environment: ["TMPDIR": folder, "LOCKSTEP_STORE": "sqlite:/nowhere", "LOCKSTEP_CONFIG": "/nowhere"],
                within: .seconds(120))
            #expect(run.status == 0, "\(run.text)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["lockstep-up-mine"])
            for fault in ["demo-1", "collector", "broker"] {
                #expect(run.text.contains(#""about":"\#(fault)","event":"was killed with SIGKILL"}"#), "\(run.text)")
            }
            #expect(run.text.contains(#"{"part":"demo-2","#) && run.text.contains(#"{"complete":true,"#))
            let lines = run.text.split(separator: "\n").prefix { !$0.hasPrefix("[") }
            for line in lines {
                #expect(throws: Never.self, "\(line)") { try JSONSerialization.jsonObject(with: Data(line.utf8)) }
            }
        }
    }

    @Test("a demo verifies its samples although the reader of its output has ended")
    func reader() async throws {
        try await withTemporaryFolder { folder in
            let command = "\(Programs.built("lockstep")) up --demo 1 --seconds 1 --no-page"
            let run = try await RunningProgram.run(
                "/bin/sh", ["-c", "{ \(command); echo \"status $?\" >&2; } | head -n 1 >/dev/null"],
                environment: ["TMPDIR": folder], within: .seconds(120))
            #expect(run.text == "status 0\n")
        }
    }

    @Test("a demo refuses a folder with the samples of other devices")
    func otherDevices() async throws {
        try await withTemporaryFolder { folder in
            let device = DeviceAddress(group: .standard, device: try DeviceID(validating: "walker"))
            let samples = SampleBlock(
                stream: .accelerometer, times: [1_700_000_000_000_000], columns: [[0], [0], [-1]])
            let batch = ReceivedBatch(
                device: device, batch: Batch(position: nil, samples: samples),
                receivedAt: Timestamp(microseconds: 1_700_000_001_000_000))
            _ = try SQLiteStore(path: folder + "/samples.db").write(IngestGroup(batches: [batch]))
            let run = try await RunningProgram.run(
                Programs.built("lockstep"), ["up", "--demo", "1", "--no-page", "--folder", folder])
            #expect(run.status == 1)
            #expect(
                run.text.contains("not of a demo, such as default/walker: choose another --folder"), "\(run.text)")
        }
    }

    @Test("a running broker is used and stays")
    func broker() async throws {
        try await withBroker { broker in
            try await withUp(port: broker.port) { up in
                #expect(await up.program.waitForOutput("page  "), "\(up.text)")
                #expect(up.text.contains("using the broker that listens on port \(broker.port) already"))
                up.program.signal(SIGTERM)
                #expect(await up.program.waitForExit() == 0, "\(up.text)")
            }
            #expect(canConnect(port: broker.port))
        }
    }

    @Test("a port of another program is an error with advice")
    func otherProgram() async throws {
        let listener = try LoopbackListener()
        Thread.detachNewThread { while let connection = listener.accept() { close(connection) } }
        defer { listener.close() }
        try await withUp(port: listener.port) { up in
            #expect(await up.program.waitForExit() == 1)
            #expect(
                up.text.contains("127.0.0.1:\(listener.port) is no MQTT broker") && up.text.contains("use --port"),
                "\(up.text)")
        }
    }

    @Test("a part that cannot start is named with its reason, and the others end")
    func portOfPage() async throws {
        let listener = try LoopbackListener()
        defer { listener.close() }
        try await withUp(pagePort: listener.port) { up in
            #expect(await up.program.waitForExit() == 1)
            #expect(up.text.contains("page failed to start (exit status 1)"), "\(up.text)")
            #expect(up.text.contains("another program uses this port"), "\(up.text)")
        }
    }

    @Test("a missing mosquitto is an error with advice", .enabled(if: geteuid() == 0, "needs the rights of root"))
    func noBroker() async throws {
        try await withTemporaryFolder { folder in
            let mosquitto = try #require(Programs.installed("mosquitto"))
            let run = try await RunningProgram.run(
                "/usr/bin/unshare",
                [
                    "--mount", "sh", "-c", "mount --bind /dev/null \(mosquitto) && exec \"$@\"", "-",
                    Programs.built("lockstep"), "up", "--folder", folder, "--port", "\(try freePort())",
                ])
            #expect(run.status == 1)
            #expect(run.text.contains("mosquitto is not installed") && run.text.contains("--broker"), "\(run.text)")
        }
    }
}

/// A running `lockstep up`.
private struct RunningUp {
    let program: RunningProgram
    let folder: String
    let port: UInt16
    let page: URL

    var text: String { program.text }

    func count(_ part: String) -> Int { text.components(separatedBy: part).count - 1 }

    /// The ids and names of its children.
    var children: [Int32: String] {
        var found: [Int32: String] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let id = Int32(name), let text = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8),
                text.contains("PPid:\t\(program.pid)\n"),
                let comm = try? String(contentsOfFile: "/proc/\(id)/comm", encoding: .utf8)
            else { continue }
            found[id] = comm.trimmingCharacters(in: .newlines)
        }
        return found
    }
}

private func hasEnded(_ id: Int32) -> Bool { kill(id, 0) != 0 }

/// Calls `body` with a started `lockstep up`, and kills it when `body` returns or throws.
private func withUp(
    port: UInt16? = nil, pagePort: UInt16? = nil, _ arguments: [String] = [], _ body: (RunningUp) async throws -> Void
) async throws {
    try await withTemporaryFolder { folder in
        let port = try port ?? freePort()
        let pagePort = try pagePort ?? freePort()
        let page = try #require(URL(string: "http://127.0.0.1:\(pagePort)/"))
        let program = try RunningProgram(
            Programs.built("lockstep"),
            ["up", "--folder", folder, "--port", "\(port)", "--listen", "127.0.0.1:\(pagePort)"] + arguments)
        defer {
            program.signal(SIGKILL)
            program.waitForEnd()
        }
        try await body(RunningUp(program: program, folder: folder, port: port, page: page))
    }
}
