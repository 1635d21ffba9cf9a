import Foundation
import LockstepCommandLine
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import LockstepWire
import Testing

@testable import lockstep

@Suite("Decisions of lockstep forget")
struct ForgetDecisionTests {
    private static let start = Moment(wall: Timestamp(microseconds: 1_800_000_000_000_000), boot: 0, awake: 0)
    private static let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))
    private var removal = DeviceRemoval(Self.left, root: .standard, id: "7")

    private func moment(_ seconds: Int64) -> Moment {
        Moment(wall: Self.start.wall + seconds * 1_000_000, boot: seconds * 1_000_000, awake: seconds * 1_000_000)
    }

    /// Lets the retained messages arrive.
    private mutating func read(_ collectors: [String: CollectorHealth], retained: [String]) throws {
        removal.didSubscribe(at: Self.start)
        let probe = try removal.takeMessages(at: Self.start)
        #expect(probe.map(\.topic) == ["lockstep/default/left/forget"] && probe.allSatisfy { $0.payload.isEmpty })
        for (name, health) in collectors {
            removal.handle(
                topic: "lockstep/default/$collector/\(name)", payload: Data(health.encoded()), isRetained: true)
        }
        for channel in retained {
            removal.handle(topic: "lockstep/default/left/\(channel)", payload: Data("x".utf8), isRetained: true)
        }
        removal.handle(topic: "lockstep/default/left/forget", payload: Data(), isRetained: false)
    }

    private func health(_ status: CollectorHealth.Status, age: Int64 = 1) -> CollectorHealth {
        CollectorHealth(status: status, at: Self.start.wall - age * 1_000_000)
    }

    private mutating func answer(_ outcome: ForgetAnswer.Outcome, id: String = "7") {
        let answer = ForgetAnswer(
            id: id, collector: CollectorID(unchecked: "main"), outcome: outcome,
            state: outcome == .online ? .active : nil)
        removal.handle(
            topic: "lockstep/default/left/forgotten", payload: Data(ForgetJSON.encode(answer)), isRetained: false)
    }

    private mutating func failure(at seconds: Int64) -> String {
        do { return "no error: \(try removal.takeMessages(at: moment(seconds)))" } catch { return "\(error)" }
    }

    private mutating func clear(_ channels: [String]) {
        for channel in channels {
            removal.handle(topic: "lockstep/default/left/\(channel)", payload: Data(), isRetained: false)
        }
    }

    @Test("collectors are asked, and the result waits until nothing is retained")
    mutating func asked() throws {
        try read(["main": health(.online)], retained: ["state", "presence", "x/co2"])
        let request = try removal.takeMessages(at: moment(0))
        #expect(try ForgetJSON.decodeRequest(Data(request.first?.payload ?? [])) == ForgetRequest(id: "7"))
        answer(.forgotten, id: "of another client")
        #expect(try removal.takeMessages(at: moment(1)).isEmpty)
        clear(["state", "presence"])
        answer(.forgotten)
        #expect(try removal.takeMessages(at: moment(1)).isEmpty && removal.result() == nil)
        // Collectors do not delete retained samples.
        let deletions = try removal.takeMessages(at: moment(3))
        #expect(deletions.map(\.topic) == ["lockstep/default/left/x/co2"])
        #expect(deletions.allSatisfy { $0.isRetained && $0.payload.isEmpty })
        clear(["x/co2"])
        #expect(removal.result()?.contains("lockstep query STREAM --device left") == true)
    }

    @Test("a device that is online, unknown, or not answered for is an error that says what to do")
    mutating func refused() throws {
        try read(["main": health(.online)], retained: ["state"])
        _ = try removal.takeMessages(at: moment(0))
        #expect(failure(at: 10).contains("no answer from collector default/main: check with 'lockstep doctor'"))
        answer(.online)
        #expect(failure(at: 1).contains("default/left is online (active)"))

        removal = DeviceRemoval(Self.left, root: .standard, id: "7")
        try read(["main": health(.online)], retained: [])
        _ = try removal.takeMessages(at: moment(0))
        answer(.unknown)
        #expect(failure(at: 1).contains("no device 'default/left' is known"))
    }

    @Test("without a collector the messages are deleted; one that is offline would bring the device back")
    mutating func withoutCollector() throws {
        try read([:], retained: ["presence"])
        #expect(try removal.takeMessages(at: moment(0)).isEmpty)
        #expect(try removal.takeMessages(at: moment(0)).map(\.topic) == ["lockstep/default/left/presence"])
        clear(["presence"])
        #expect(removal.result()?.contains("no collector at this broker") == true)
        for health in [health(.offline), health(.online, age: 600)] {
            removal = DeviceRemoval(Self.left, root: .standard, id: "7")
            try read(["main": health], retained: ["presence"])
            #expect(failure(at: 0).contains("lockstep forget --collector default/main"))
        }
    }

    @Test("a collector is only forgotten if it does not run, and an unknown one is an error with the known names")
    func collector() throws {
        func removal(of name: String, _ health: CollectorHealth) throws -> ProgramRemoval {
            var removal = ProgramRemoval(collector: try DeviceArgument(parsing: name), root: .standard)
            removal.didSubscribe(at: Self.start)
            removal.handle(
                topic: "lockstep/default/$collector/main", payload: Data(health.encoded()), isRetained: true)
            return removal
        }
        var running = try removal(of: "main", health(.stalled))
        #expect(throws: CommandFailure.self) { try running.takeMessages(at: moment(0)) }
        for health in [health(.offline), health(.stalled, age: 600)] {
            var old = try removal(of: "main", health)
            let messages = try old.takeMessages(at: moment(0))
            #expect(messages.map(\.topic) == ["lockstep/default/$collector/main"] && messages[0].isRetained)
            #expect(old.result() == nil)
            old.handle(topic: messages[0].topic, payload: Data(), isRetained: false)
            #expect(old.result()?.contains("default/main is forgotten") == true)
        }
        var unknown = try removal(of: "mian", health(.offline))
        #expect(try unknown.takeMessages(at: moment(1)).isEmpty)
        do {
            _ = try unknown.takeMessages(at: moment(2))
            Issue.record("no error")
        } catch { #expect("\(error)".contains("those that have are: default/main")) }
    }
}

@Suite("lockstep forget", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct ForgetCommandTests {
    private func run(_ system: TestSystem, _ arguments: [String]) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(Programs.built("lockstep"), arguments + ["--broker", system.broker.url])
    }

    private func devices(_ system: TestSystem, _ options: [String] = []) async throws -> String {
        try await RunningProgram.run(
            Programs.built("lockstep"), ["devices", "--store", "sqlite:\(system.storePath)"] + options
        ).text
    }

    /// The topics below a filter with retained messages.
    private func retained(_ system: TestSystem, _ filter: String) async throws -> [String] {
        let client = try await system.connect([filter, "test/end"])
        // With MQTT 5, a client does not receive what it publishes itself.
        let other = try await system.connect(["test/unused"])
        #expect(await other.publish("test/end", "x"))
        await client.expectMessage { $0.topic == "test/end" }
        return client.messages.map(\.topic).filter { $0 != "test/end" }
    }

    @Test("a forgotten device is listed nowhere, also after a restart, keeps its samples, and returns if it sends")
    func device() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            try await system.waitForSubscription()
            let agent = try system.startAgent("walker")
            let client = try await system.connect(["lockstep/default/walker/#"])
            await client.expectMessage { $0.topic.hasSuffix("/state") && $0.text.contains("active") }
            await client.expectMessage { $0.topic.hasSuffix("/ack") }

            let refused = try await run(system, ["forget", "walker"])
            #expect(refused.status == 1 && refused.text.contains("default/walker is online (active)"), "\(refused)")
            await agent.stop()
            #expect(await collector.waitForState("terminated", from: "active", reason: "stop"))
            let done = try await run(system, ["forget", "walker"])
            #expect(done.status == 0 && done.text.hasPrefix("default/walker is forgotten"), "\(done)")
            #expect(try await retained(system, "lockstep/default/walker/#").isEmpty)
            #expect(try await devices(system) == "no devices\n")
            #expect(try await devices(system, ["--forgotten"]).contains("forgotten"))
            let unknown = try await run(system, ["forget", "wlaker"])
            #expect(unknown.status == 1 && unknown.text.contains("no device 'default/wlaker' is known"), "\(unknown)")

            await collector.stop()
            let other = try system.startCollector()
            #expect(await other.waitForOutput("connected to"))
            await client.expectMessage { _ in true }
            let doctor = try await run(system, ["doctor", "--seconds", "1"])
            #expect(!doctor.text.contains("walker"), "\(doctor)")
            let query = try await RunningProgram.run(
                Programs.built("lockstep"),
                ["query", "steps", "--device", "walker", "--store", "sqlite:\(system.storePath)", "--csv"])
            #expect(query.status == 0 && query.text.contains("walker"), "\(query)")
            let verify = try await RunningProgram.run(
                Programs.built("lockstep"), ["verify", "--store", "sqlite:\(system.storePath)"])
            #expect(verify.status == 0 && verify.text.contains("left out: 1 forgotten device"), "\(verify)")

            _ = try system.startAgent("walker")
            #expect(await other.waitForState("resumed", from: "terminated"))
            #expect(try await devices(system).contains("default/walker"))
        }
    }

    @Test("a stopped collector is forgotten, and a running one is not")
    func collector() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            try await system.waitForSubscription()
            let refused = try await run(system, ["forget", "--collector", "main"])
            #expect(refused.status == 1 && refused.text.contains("is running: stop it first"), "\(refused)")
            await collector.stop()
            let done = try await run(system, ["forget", "--collector", "main"])
            #expect(done.status == 0 && done.text.contains("collector default/main is forgotten"), "\(done)")
            #expect(try await retained(system, "lockstep/default/$collector/+").isEmpty)
        }
    }

    @Test("one device, collector or gateway must be named")
    func arguments() async throws {
        for arguments in [["forget"], ["forget", "a", "--gateway", "b"]] {
            let run = try await RunningProgram.run(Programs.built("lockstep"), arguments)
            #expect(run.status != 0 && run.text.contains("name one device"), "\(run)")
        }
    }
}
