import Foundation
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@testable import lockstep

@Suite("Answers of several collectors to lockstep forget")
struct ForgetAnswersTests {
    private static let start = Moment(wall: Timestamp(microseconds: 1_800_000_000_000_000), boot: 0, awake: 0)
    private var removal = DeviceRemoval(
        DeviceAddress(group: .standard, device: DeviceID(unchecked: "left")), root: .standard, id: "7")

    private func moment(_ seconds: Int64) -> Moment {
        Moment(wall: Self.start.wall + seconds * 1_000_000, boot: seconds * 1_000_000, awake: seconds * 1_000_000)
    }

    /// Lets retained messages of two collectors and of the device arrive, and asks the collectors.
    private mutating func ask() throws {
        removal.didSubscribe(at: Self.start)
        _ = try removal.takeMessages(at: Self.start)
        for name in ["default/$collector/a", "lab/$collector/b"] {
            let health = CollectorHealth(status: .online, at: Self.start.wall)
            removal.handle(topic: "lockstep/\(name)", payload: Data(health.encoded()), isRetained: true)
        }
        removal.handle(topic: "lockstep/default/left/state", payload: Data("x".utf8), isRetained: true)
        removal.handle(topic: "lockstep/default/left/forget", payload: Data(), isRetained: false)
        let requests = try removal.takeMessages(at: Self.start)
        #expect(try requests.map { try ForgetJSON.decodeRequest(Data($0.payload)) } == [ForgetRequest(id: "7")])
    }

    private mutating func answer(_ collector: String, _ outcome: ForgetAnswer.Outcome) {
        let answer = ForgetAnswer(id: "7", collector: CollectorID(unchecked: collector), outcome: outcome)
        removal.handle(
            topic: "lockstep/default/left/forgotten", payload: Data(ForgetJSON.encode(answer)), isRetained: false)
    }

    private mutating func deleteState() {
        removal.handle(topic: "lockstep/default/left/state", payload: Data(), isRetained: false)
    }

    private mutating func failure(at seconds: Int64) -> String {
        do { return "no error: \(try removal.takeMessages(at: moment(seconds)))" } catch { return "\(error)" }
    }

    @Test(
        "a later answer that the device is online decides, whatever came first",
        arguments: [ForgetAnswer.Outcome.unknown, .forgotten])
    mutating func online(_ first: ForgetAnswer.Outcome) throws {
        try ask()
        answer("a", first)
        #expect(try removal.takeMessages(at: moment(1)).isEmpty && removal.result() == nil)
        deleteState()
        #expect(try removal.takeMessages(at: moment(2)).isEmpty && removal.result() == nil)
        answer("b", .online)
        #expect(failure(at: 3).contains("default/left is online"))
    }

    @Test("the collector that has forgotten the device decides over one that does not know it")
    mutating func forgotten() throws {
        try ask()
        answer("a", .unknown)
        #expect(try removal.takeMessages(at: moment(1)).isEmpty && removal.result() == nil)
        answer("b", .forgotten)
        #expect(try removal.takeMessages(at: moment(1)).isEmpty)
        deleteState()
        #expect(removal.result()?.contains("default/left is forgotten. Its samples stay") == true)
    }

    @Test("only if no collector knows the device, they are asked to delete its messages")
    mutating func unknown() throws {
        try ask()
        answer("a", .unknown)
        answer("b", .unknown)
        let requests = try removal.takeMessages(at: moment(1))
        #expect(
            try requests.map { try ForgetJSON.decodeRequest(Data($0.payload)) }
                == [ForgetRequest(id: "7", deletesUnknown: true)])
        #expect(removal.result() == nil)
        deleteState()
        #expect(removal.result()?.contains("No collector has stored it") == true)
    }

    @Test("a collector that does not answer is waited for until the deadline")
    mutating func deadline() throws {
        try ask()
        answer("a", .forgotten)
        deleteState()
        #expect(try removal.takeMessages(at: moment(9)).isEmpty && removal.result() == nil)
        #expect(try removal.takeMessages(at: moment(10)).isEmpty)
        #expect(removal.result()?.contains("No answer from collector lab/b: it may still list") == true)
    }

    @Test("nothing is deleted if a collector that may know the device has not answered; it is named")
    mutating func silent() throws {
        try ask()
        answer("a", .unknown)
        #expect(try removal.takeMessages(at: moment(9)).isEmpty)
        let text = failure(at: 10)
        #expect(text.contains("no answer from collector lab/b: check with 'lockstep doctor'"), "\(text)")
        #expect(text.contains("lockstep forget --collector lab/b"), "\(text)")
    }

    @Test("a collector of other groups is not waited for, and one of another partition decides nothing")
    mutating func others() throws {
        try ask()
        let health = CollectorHealth(status: .online, at: Self.start.wall, groups: ["lab"])
        removal.handle(topic: "lockstep/lab/$collector/b", payload: Data(health.encoded()), isRetained: false)
        answer("a", .other)
        #expect(failure(at: 1).contains("no running collector collects default/left"))
        answer("a", .unknown)
        let requests = try removal.takeMessages(at: moment(1))
        #expect(requests.count == 1)
    }

    @Test("the messages of a device whose group no collector collects are deleted")
    mutating func withoutCollector() throws {
        removal.didSubscribe(at: Self.start)
        _ = try removal.takeMessages(at: Self.start)
        let health = CollectorHealth(status: .online, at: Self.start.wall, groups: ["lab"])
        removal.handle(topic: "lockstep/lab/$collector/b", payload: Data(health.encoded()), isRetained: true)
        removal.handle(topic: "lockstep/default/left/state", payload: Data("x".utf8), isRetained: true)
        removal.handle(topic: "lockstep/default/left/forget", payload: Data(), isRetained: false)
        #expect(try removal.takeMessages(at: moment(0)).isEmpty)
        #expect(try removal.takeMessages(at: moment(0)).map(\.topic) == ["lockstep/default/left/state"])
        deleteState()
        #expect(removal.result()?.hasSuffix("There is no collector of its group at this broker.") == true)
    }

    @Test("what a device sends after its return is not deleted")
    mutating func returned() throws {
        try ask()
        for collector in ["a", "b"] { answer(collector, .forgotten) }
        _ = try removal.takeMessages(at: moment(1))
        removal.handle(topic: "lockstep/default/left/state", payload: Data("y".utf8), isRetained: false)
        #expect(try removal.takeMessages(at: moment(5)).isEmpty && removal.result() != nil)
    }
}

@Suite(
    "lockstep forget with several collectors",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct SeveralCollectorsForgetTests {
    private func forget(_ system: TestSystem) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"), ["forget", "walker", "--broker", system.broker.url])
    }

    @Test("a collector that does not know a device deletes nothing of it, and a deleted state comes back")
    func unknown() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect(["lockstep/default/walker/#", "test/end"])
            let other = try await system.connect(["test/unused"])
            // Nothing of this device is retained, so a collector that is started later does not know it.
            let batch = Batch(
                position: nil,
                samples: SampleBlock(
                    stream: .accelerometer, times: [Moment.now().wall.microseconds], columns: [[1], [2], [3]]))
            #expect(await other.publish("lockstep/default/walker/motion/accelerometer", BatchJSON.encode(batch)))
            await client.expectMessage { $0.topic.hasSuffix("/state") && $0.text.contains("active") }
            let second = try system.start(
                "lockstep-collector",
                [
                    "--broker", system.broker.url, "--id", "second", "--store", "sqlite:\(system.folder)/second.db",
                ])
            let health = try await system.connect(["lockstep/+/$collector/second"])
            await health.expectMessage { $0.text.contains(#""status":"online""#) }
            #expect(second.isRunning, "\(second.text)")
            let refused = try await forget(system)
            #expect(refused.status == 1 && refused.text.contains("default/walker is online (active)"), "\(refused)")
            await client.expectMessage { $0.topic.hasSuffix("/forgotten") && $0.text.contains("unknown") }
            #expect(await other.publish("test/end", "x"))
            await client.expectMessage { $0.topic == "test/end" }
            #expect(!client.messages.contains { $0.topic.hasSuffix("/state") && $0.text.isEmpty })

            #expect(await other.publish("lockstep/default/walker/state", "", isRetained: true))
            await expectEventually("\(first.text)") {
                let states = client.messages.filter { $0.topic.hasSuffix("/state") }.map(\.text)
                return states.last?.contains("active") == true && states.contains("")
            }
        }
    }
}
