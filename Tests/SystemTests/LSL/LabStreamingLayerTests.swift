import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

/// A Python with the package `pylsl`; nil if there is none.
private let python: String? = {
    guard let path = Programs.referencePython else { return nil }
    return (try? RunningProgram(path, ["-c", "import pylsl, cbor2, paho.mqtt"]))?.waitForEnd() == 0 ? path : nil
}()

/// A command that runs a program whose monotonic clock is ahead; needs the right to create namespaces.
private let withClock = ["unshare", "--user", "--time", "--fork", "--kill-child", "--monotonic"]
private let canChangeClock = (try? RunningProgram("/usr/bin/env", withClock + ["1", "true"]))?.waitForEnd() == 0

@Suite(
    "The bridge to the Lab Streaming Layer",
    .enabled(
        if: python != nil && Programs.isInstalled("mosquitto"),
        "mosquitto or Python with the reference packages is missing: run deploy/check"))
struct LabStreamingLayerTests {
    /// Starts a script with LSL restricted to this machine and to the programs of `system`.
    /// - Parameter clock: how many seconds its monotonic clock is ahead, as if it ran on another machine.
    private func start(_ system: TestSystem, _ script: String, _ arguments: [String], clock: Int = 0) throws
        -> RunningProgram
    {
        let settings = system.folder + "/lsl_api.cfg"
        try """
        [ports]
        BasePort = \(min(system.broker.port + 1, 65_000))
        IPv6 = disable
        [multicast]
        ResolveScope = machine
        [lab]
        KnownPeers = {127.0.0.1}
        SessionID = \(system.broker.port)
        [log]
        level = -2

        """.write(toFile: settings, atomically: true, encoding: .utf8)
        let prefix = clock == 0 ? [] : withClock + ["\(clock)"]
        return try RunningProgram(
            "/usr/bin/env", prefix + [python ?? "", "-u", Programs.source(script)] + arguments,
            environment: ["LSLAPICFG": settings])
    }

    private func bridge(_ system: TestSystem, _ arguments: [String]) throws -> RunningProgram {
        try start(system, "deploy/examples/lsl_bridge.py", arguments)
    }

    private func peer(_ system: TestSystem, _ arguments: [String], clock: Int = 0) throws -> RunningProgram {
        try start(system, "Tests/SystemTests/LSL/lsl_peer.py", arguments, clock: clock)
    }

    /// The rows of a stream on the collector's clock if it is known: columns by name, in the order of time.
    private func query(_ system: TestSystem, _ stream: String, _ arguments: [String] = []) async throws
        -> [[String: String]]
    {
        let result = try await RunningProgram.run(
            Programs.built("lockstep"),
            ["query", stream, "--csv", "--store", "sqlite:\(system.storePath)"] + arguments)
        let lines = result.text.split(separator: "\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        guard result.status == 0, let names = lines.first else { throw ProgramError(result.text) }
        return lines.dropFirst().map { Dictionary(uniqueKeysWithValues: zip(names, $0)) }
    }

    /// The lines of a file in JSON, but not one that is not complete yet.
    private func lines(_ path: String) throws -> [[Any]] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .dropLast().compactMap { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [Any] }
    }

    @Test("records an outlet as a device: each sample once, also when the bridge and the collector are killed")
    func record() async throws {
        try await withSystem { system in
            let pushed = system.folder + "/pushed"
            let outlet = try peer(system, ["push", pushed, "0"])
            defer { outlet.signal(SIGKILL) }
            await expectEventually("\(outlet.text)") { FileManager.default.fileExists(atPath: pushed) }
            let declaring = try bridge(system, ["declare", "--name", "EEG"])
            #expect(await declaring.waitForExit() == 0, "\(declaring.text)\(outlet.text)")
            let declaration = try #require(declaring.text.range(of: "streams:"))
            let settings = system.folder + "/streams.yaml"
            try declaring.text[declaration.lowerBound...].write(
                toFile: settings, atomically: true, encoding: .utf8)

            let first = try system.startCollector(["--config", settings])
            try await system.waitForSubscription()
            func startBridge() throws -> RunningProgram {
                try bridge(
                    system,
                    [
                        "in", "--name", "EEG", "--port", "\(system.broker.port)", "--group", "lab", "--device", "eeg",
                        "--outbox", system.outbox(of: "eeg"),
                    ])
            }
            let killed = try startBridge()
            defer { killed.signal(SIGKILL) }
            let reader = try await system.reader()
            func samples() throws -> Int64 { try reader.devices().first?.samples ?? 0 }
            try await expectEventually("\(killed.text)") { try samples() > 200 }
            await first.stop(SIGKILL)
            await killed.stop(SIGKILL)

            let before = try samples()
            let second = try startBridge()
            defer { second.signal(SIGKILL) }
            #expect(await second.waitForOutput("connected"), "\(second.text)")
            let collector = try system.startCollector(["--config", settings])
            try await expectEventually("\(second.text)\(collector.text)") { try samples() > before + 400 }
            // The outlet's machine is restarted, so that its clock begins anew.
            await outlet.stop(SIGKILL)
            let restarted = try peer(system, ["push", pushed + "-2", "1000000"], clock: canChangeClock ? 5000 : 0)
            defer { restarted.signal(SIGKILL) }
            let then = try samples()
            try await expectEventually("\(second.text)\(restarted.text)") { try samples() > then + 400 }
            await second.stop(SIGTERM)
            #expect(second.text.contains("stopped, 0 batches"), "\(second.text)")
            let verification = try await system.verify([])
            #expect(verification.status == 0, "\(verification.text)")

            // Labels and units are those of the outlet, and there are at most 32 channels in a stream.
            #expect(declaring.text.contains(#"fp1: { unit: "microvolts", summary: "Fp1", required: false }"#))
            let times = Dictionary(
                uniqueKeysWithValues: try (lines(pushed) + lines(pushed + "-2")).map {
                    ($0[1] as? Int ?? -1, $0[0] as? Int ?? 0)
                })
            let rows = try await query(system, "x/lsl/eeg")
            let numbers = rows.compactMap { Double($0["number"] ?? "").map { Int($0) } }
            #expect(numbers.count == rows.count)
            for (row, number) in zip(rows, numbers) {
                let isMissing = number % 10 == 0
                #expect(row["fp1"] == (isMissing ? "" : "\(Double(number) / 8)") && row["c28"] == "\(Double(-number))")
                // Both clocks are those of this machine; a loaded machine measures the offset of LSL less well.
                let difference = try #require(times[number]) - (Int(row["t"] ?? "") ?? 0)
                #expect(abs(difference) < 100_000, "\(row)")
            }
            // Only the samples are missing that were pushed while the bridge did not run or did not know the new outlet.
            let gaps = zip(numbers, numbers.dropFirst()).filter { $1 != $0 + 1 }
            #expect(gaps.count <= 2 && gaps.allSatisfy { $1 > $0 }, "\(gaps)")
            let others = try await query(system, "x/lsl/eeg_2")
            #expect(others.map { $0["c29"] } == numbers.map { "\(Double(-$0))" })
            #expect(others.map { $0["t"] } == rows.map { $0["t"] })
        }
    }

    @Test("publishes streams as outlets on the clock of the collector, and again after it was killed")
    func outlets() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect()
            let agent = try system.startAgent("arm-left", ["--encoding", "cbor"])
            let pulled = system.folder + "/pulled"
            let inlet = try peer(system, ["pull", "arm-left motion/accelerometer", pulled])
            defer { inlet.signal(SIGKILL) }
            func startBridge() throws -> RunningProgram {
                try bridge(system, ["out", "--port", "\(system.broker.port)"])
            }
            func count() throws -> Int { try FileManager.default.fileExists(atPath: pulled) ? lines(pulled).count : 0 }
            let killed = try startBridge()
            defer { killed.signal(SIGKILL) }
            try await expectEventually("\(killed.text)\(inlet.text)") { try count() > 200 }
            await killed.stop(SIGKILL)
            let before = try count()
            let second = try startBridge()
            defer { second.signal(SIGKILL) }
            try await expectEventually("\(second.text)\(inlet.text)") { try count() > before + 100 }
            // A batch that is delivered twice.
            let batch = try #require(
                client.messages.last { $0.topic == "lockstep/default/arm-left/motion/accelerometer" })
            _ = await client.publish(batch.topic, batch.payload)
            let then = try count()
            try await expectEventually("\(second.text)\(inlet.text)") { try count() > then + 100 }
            await second.stop()
            await agent.stop()
            #expect(await collector.waitForState("terminated", of: "default/arm-left"), "\(collector.text)")

            let received = try lines(pulled)
            let description = try #require(received.first)
            #expect(description[1] as? String == "lockstep/default/arm-left/motion/accelerometer")
            #expect(description[2] as? [String] == ["x", "y", "z"] && description[3] as? [String] == ["g", "g", "g"])
            let rows = try await query(system, "motion/accelerometer", ["--time", "collector"])
            var indices: [[Double]: Int] = [:]
            for (index, row) in rows.enumerated() {
                indices[["x", "y", "z"].compactMap { Double(row[$0] ?? "") }] = index
            }
            let found = received.dropFirst().compactMap { indices[$0.dropFirst().compactMap { $0 as? Double }] }
            #expect(found.count == received.count - 1)
            for (index, sample) in zip(found, received.dropFirst()) {
                let difference = (sample[0] as? Int ?? 0) - (Int(rows[index]["t"] ?? "") ?? 0)
                #expect(abs(difference) < 100_000, "\(sample)")
            }
            let gaps = zip(found, found.dropFirst()).filter { $1 != $0 + 1 }
            #expect(gaps.count <= 1 && gaps.allSatisfy { $1 > $0 }, "\(gaps)")
        }
    }

    @Test("publishes each batch once, also after the clock was set back, and ignores what is not a batch")
    func batches() async throws {
        try await withSystem { system in
            let client = try await system.connect()
            let bridging = try bridge(system, ["out", "--port", "\(system.broker.port)"])
            defer { bridging.signal(SIGKILL) }
            let pulled = system.folder + "/pulled"
            let inlet = try peer(system, ["pull", "left x/words", pulled])
            defer { inlet.signal(SIGKILL) }
            let topic = "lockstep/default/left/x/words"
            let mark = "lockstep/default/$session/walk/mark"
            func batch(_ number: Int, _ time: Int, _ word: String) -> String {
                #"{"epoch":"a","seq":\#(number),"t":\#(time),"word":[\#(word)]}"#
            }
            func words() throws -> [String] {
                guard FileManager.default.fileExists(atPath: pulled) else { return [] }
                return try lines(pulled).dropFirst().compactMap { $0.last as? String }
            }

            // The bridge waits for three seconds for a description of the stream.
            _ = await client.publish(mark, #"{"t":1,"text":"turn"}"#)
            var number = 0
            try await expectEventually("\(bridging.text)\(inlet.text)") {
                number += 1
                _ = await client.publish(topic, batch(number, 2_000_000 + number, #""first""#))
                return try !words().isEmpty
            }
            _ = await client.publish(mark, #"{"t":2,"text":"turn"}"#)
            _ = await client.publish("lockstep/default/left", "5")
            for payload in ["5", #""turn""#, "[]", #"{"t":1}"#, #"{"t":"1","word":["a"]}"#] {
                _ = await client.publish(topic, payload)
            }
            _ = await client.publish(topic, [0xA3, 0x61] as [UInt8])
            let earlier = batch(number + 1, 1_000_000, #""earlier""#)
            let missing = batch(number + 2, 1_000_001, "null")
            for payload in [earlier, earlier, missing, batch(number + 3, 3_000_000, #""last""#)] {
                _ = await client.publish(topic, payload)
            }
            try await expectEventually("\(bridging.text)\(inlet.text)") { try words().last == "last" }
            #expect(try words().filter { $0 != "first" } == ["earlier", "", "last"])
            #expect(!client.messages.contains { $0.topic == "lockstep/default/$session/command" })
        }
    }

    @Test("makes the texts of an outlet markers of a session, with their time")
    func markers() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            _ = try system.startAgent("arm-left")
            let client = try await system.connect()
            let topic = "lockstep/default/$session/walk"
            _ = await client.publish(topic + "/start", #"{"name":"walk"}"#)
            let outlet = try peer(system, ["say", "turn left"])
            defer { outlet.signal(SIGKILL) }
            let marking = try bridge(
                system, ["mark", "--name", "Stimuli", "--session", "walk", "--port", "\(system.broker.port)"])
            defer { marking.signal(SIGKILL) }
            await client.expectMessage {
                $0.topic == topic && $0.text.contains(#""clock":"client","text":"turn left""#)
            }
            let marker = try #require(try await system.reader().sessions().first?.markers.first)
            let line = try #require(outlet.text.split(separator: "\n").first { $0.hasPrefix("[") })
            let said = try #require(Int64(line.dropFirst().dropLast()))
            #expect(abs(marker.time.microseconds - said) < 100_000, "\(marker)")
            // Two outlets with one name cannot be told apart.
            let other = try peer(system, ["say", "turn right"])
            defer { other.signal(SIGKILL) }
            try await expectEventually {
                let refused = try bridge(system, ["declare", "--name", "Stimuli"])
                #expect(await refused.waitForExit() == 1)
                return refused.text.contains("several outlets have the name Stimuli")
            }
        }
    }
}
