import Foundation
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import LockstepWire
import Testing

@Suite("Encodings", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct EncodingTests {
    @Test("all samples that an agent sends in CBOR are stored, and doctor and watch can read them")
    func wholePath() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("connected to"))
            let client = try await system.connect()
            let watch = try system.start(
                "lockstep", ["watch", "--broker", system.broker.url, "--json", "--batches"])
            let agent = try system.startAgent("walker", ["--encoding", "cbor"])
            let reader = try await system.reader()
            try await expectEventually { try reader.devices().first.map { $0.samples > 600 } ?? false }
            let doctor = try await RunningProgram.run(
                Programs.built("lockstep"), ["doctor", "--broker", system.broker.url, "--seconds", "2"])
            #expect(!doctor.text.contains("invalid message"), "\(doctor.text)")
            await expectEventually { watch.text.contains(#""stream":"motion/device","batch":{"v":1,"epoch""#) }
            await agent.stop()
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)\(agent.text)\(collector.text)")
            #expect(!watch.text.contains("unreadable"), "\(watch.text)")
            let batches = Self.batches(of: client)
            #expect(batches.count > 5)
            for batch in batches {
                #expect(batch.contentType == "application/cbor")
                #expect(BatchEncoding(of: batch.payload) == .cbor)
            }
        }
    }

    @Test("an outbox holds batches in both encodings, and an agent sends them unchanged, whatever its own encoding")
    func changedOption() async throws {
        try await withSystem { system in
            for encoding in ["cbor", "json", "cbor"] {
                // No collector: everything stays in the outbox.
                let client = try await system.connect()
                let agent = try system.startAgent("walker", ["--encoding", encoding])
                await client.expectMessage { message in
                    message.topic.hasSuffix("motion/accelerometer")
                        && message.contentType == "application/\(encoding)"
                }
                await agent.stop()
            }
            let client = try await system.connect()
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("connected to"))
            try await system.drain("walker")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
            let late = try Self.batches(of: client).filter { message in
                guard let stream = Self.stream(of: message) else { return false }
                return try !BatchEncoding.decode(Data(message.payload), stream: stream).isLive
            }
            let types = Set(late.map(\.contentType))
            #expect(types == ["application/json", "application/cbor"])
        }
    }

    @Test(
        "a Python reader with its own CBOR library decodes the same values",
        .enabled(if: Programs.pythonHas("cbor2"), "python3-cbor2 is not installed"))
    func otherLanguage() async throws {
        try await withSystem { system in
            let client = try await system.connect()
            let agent = try system.startAgent("walker", ["--encoding", "cbor"])
            await expectEventually {
                Set(client.messages.compactMap(Self.stream)).count >= 5 && Self.batches(of: client).count > 20
            }
            await agent.stop()
            let batches = Self.batches(of: client)
            let payloads = system.folder + "/payloads"
            try batches.map { $0.payload.map { String(format: "%02x", $0) }.joined() }.joined(separator: "\n")
                .write(toFile: payloads, atomically: true, encoding: .utf8)
            let script = """
                import json, sys
                sys.path.insert(0, sys.argv[1])
                import read_cbor
                for line in open(sys.argv[2]): print(json.dumps(read_cbor.read(bytes.fromhex(line))))
                """
            let reading = try await RunningProgram.run(
                Programs.installed("python3") ?? "", ["-c", script, Programs.source("deploy/examples"), payloads])
            #expect(reading.status == 0, "\(reading.text.suffix(2000))")
            let lines = reading.text.split(separator: "\n")
            #expect(lines.count == batches.count, "\(reading.text.suffix(2000))")
            for (line, message) in zip(lines, batches) {
                let stream = try #require(Self.stream(of: message))
                let theirs = try BatchJSON.decode(Data(line.utf8), stream: stream)
                let ours = try BatchCBOR.decode(Data(message.payload), stream: stream)
                #expect(theirs == ours)
            }
        }
    }

    @Test(
        "the Python reader prints the batches of devices with JSON and CBOR, with versions 1 and 2 of paho-mqtt",
        .enabled(
            if: Programs.pythonHas("cbor2, paho.mqtt.client"), "python3-cbor2 or python3-paho-mqtt is not installed"),
        arguments: [Programs.installed("python3"), Programs.referencePython].compactMap(\.self))
    func pythonReader(python: String) async throws {
        try await withSystem { system in
            let reader = try RunningProgram(
                python, [Programs.source("deploy/examples/read_cbor.py"), "127.0.0.1", "\(system.broker.port)"])
            for (device, encoding) in [("plain", "json"), ("packed", "cbor")] {
                _ = try system.startAgent(device, ["--encoding", encoding])
            }
            for device in ["plain", "packed"] {
                let start = "lockstep/default/\(device)/motion/accelerometer {\"v\": 1"
                await expectEventually("\(reader.text.suffix(2000))") { reader.text.contains(start) }
            }
        }
    }

    private static func batches(of client: TestClient) -> [TestClient.Message] {
        client.messages.filter { stream(of: $0) != nil }
    }

    private static func stream(of message: TestClient.Message) -> SensorStream? {
        guard case .device(_, .stream(let stream))? = try? TopicRoot.standard.parse(message.topic) else { return nil }
        return stream
    }
}
