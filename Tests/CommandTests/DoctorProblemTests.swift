import Foundation
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@testable import lockstep

@Suite("Problems of devices that lockstep doctor finds")
struct DoctorProblemTests {
    private let now = Timestamp(microseconds: 1_800_000_000_000_000)
    private let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))
    private var observations = Observations(broker: BrokerAddress(host: "localhost", port: 1883))

    init() { observations.version = .five }

    private mutating func record(_ channel: String, _ payload: [UInt8], isRetained: Bool = false) {
        observations.record(
            topic: "lockstep/default/left/\(channel)", payload: Data(payload), contentType: nil, isRetained: isRetained,
            root: .standard, at: now)
    }

    private mutating func recordBatch(_ epoch: String, _ seq: Int64, isLive: Bool = true) {
        let batch = Batch(
            position: BatchPosition(epoch: Epoch(unchecked: epoch), seq: seq), isLive: isLive,
            samples: SampleBlock(
                stream: .accelerometer, times: [now.microseconds + seq], columns: [[1], [2], [3]]))
        record("motion/accelerometer", BatchJSON.encode(batch))
    }

    private var warnings: [Finding] {
        Diagnosis(observations: observations, now: now).findings.filter { $0.subject == "device default/left" }
    }

    @Test("live batches of two outboxes that alternate are reported, a new epoch or a backlog is not")
    mutating func alternating() {
        recordBatch("a", 1)
        recordBatch("b", 1)
        recordBatch("a", 2, isLive: false)
        recordBatch("b", 2)
        let usual = warnings
        recordBatch("a", 3)
        let found = warnings
        #expect(!usual.contains { $0.text.contains("more than one agent") })
        #expect(found.contains { $0.text.contains("more than one agent uses this name") && $0.level == .warning })
    }

    @Test("sessions of two outboxes that alternate are reported, dropped batches of an earlier epoch are not")
    mutating func sessions() {
        func presence(_ session: Int64, _ epoch: String) -> [UInt8] {
            Array(
                PresenceJSON.encode(
                    Presence(epoch: Epoch(unchecked: epoch), session: session, phase: .foreground, at: now)))
        }
        record("presence", presence(1, "a"), isRetained: true)
        record("presence", presence(1, "old"))
        record("presence", presence(1, "a"))
        record("presence", presence(2, "b"))
        let usual = warnings
        record("presence", presence(1, "a"))
        let found = warnings
        #expect(!usual.contains { $0.text.contains("more than one agent") })
        #expect(found.contains { $0.text.contains("more than one agent uses this name") })
    }

    @Test("the problem that an agent reports is shown, with a command that lists what was rejected")
    mutating func reported() {
        var presence = Presence(epoch: nil, session: 1, phase: .foreground, at: now)
        presence.problem = "a collector refuses its batches: sample time is in the future"
        record("presence", PresenceJSON.encode(presence), isRetained: true)
        #expect(warnings.map(\.text) == ["a collector refuses its batches: sample time is in the future"])
        #expect(warnings.first?.level == .warning && warnings.first?.advice?.contains("message rejected") == true)
        presence.problem = "another agent uses the same device id: give each agent its own --device"
        record("presence", PresenceJSON.encode(presence), isRetained: true)
        #expect(warnings.first?.advice == "stop all but one, and give each agent its own --device")
    }

    @Test("an outbox that cannot be used is a failure")
    mutating func outbox() {
        var presence = Presence(epoch: nil, session: 1, phase: .foreground, at: now)
        presence.problem = Presence.outboxProblem + "cannot write outbox '/x': its file system is read-only"
        record("presence", PresenceJSON.encode(presence), isRetained: true)
        #expect(warnings.map(\.text) == [presence.problem])
        #expect(warnings.first?.level == .failure && warnings.first?.advice?.contains("memory") == true)
    }

    @Test("a refusal that arrives meanwhile is shown, and does not hide the newest acknowledgement")
    mutating func refusal() {
        let epoch = Epoch(unchecked: "a")
        record("ack", AcknowledgementJSON.encode(Acknowledgement(epoch: epoch, through: 200)), isRetained: true)
        recordBatch("a", 201)
        let refused = Acknowledgement(epoch: epoch, through: 0, refusal: .init(seq: 201, reason: "too many devices"))
        record("ack", AcknowledgementJSON.encode(refused))
        #expect(observations.devices[left]?.ack?.through == 200)
        #expect(warnings.contains { $0.text == "a collector refuses its batches: too many devices" })
        #expect(!warnings.contains { $0.text.contains("has stored batches up to") })
    }

    @Test("a refusal of a batch that a collector has stored, before or after it, is not shown")
    mutating func storedElsewhere() {
        func ack(_ epoch: String, _ through: Int64) -> [UInt8] {
            AcknowledgementJSON.encode(Acknowledgement(epoch: Epoch(unchecked: epoch), through: through))
        }
        let refused = AcknowledgementJSON.encode(
            Acknowledgement(
                epoch: Epoch(unchecked: "a"), through: 0, refusal: .init(seq: 7, reason: "too many devices")))
        var isShown: [Bool] = []
        for payload in [refused, ack("a", 6), ack("b", 7), ack("a", 7), refused] {
            record("ack", payload)
            isShown.append(warnings.contains { $0.text.contains("too many devices") })
        }
        #expect(isShown == [true, true, true, false, false])
    }

    @Test("of two agents with one name, only one finding is shown, beside a refusal")
    mutating func takeover() {
        var presence = Presence(epoch: nil, session: 1, phase: .foreground, at: now)
        presence.problem = "another agent uses the same device id: give each agent its own --device"
        record("presence", PresenceJSON.encode(presence), isRetained: true)
        for epoch in ["a", "b", "a"] { recordBatch(epoch, 1) }
        let advice = "stop all but one, and give each agent its own --device"
        #expect(warnings.filter { $0.advice == advice }.count == 1)
        record(
            "ack",
            AcknowledgementJSON.encode(
                Acknowledgement(
                    epoch: Epoch(unchecked: "a"), through: 0, refusal: .init(seq: 7, reason: "too many devices"))))
        #expect(warnings.filter { $0.advice == advice }.count == 1)
        #expect(warnings.contains { $0.text == "a collector refuses its batches: too many devices" })
    }

    @Test("an old report of a stalled collector may be of one that was killed")
    mutating func stalled() {
        for (age, text) in [
            (Int64(5), "stores no data: full"), (3600, "reported 60m ago that it stores no data: full"),
        ] {
            observations.collectors["default/main"] = CollectorHealth(
                status: .stalled, at: now - age * 1_000_000, problem: "full")
            let found = Diagnosis(observations: observations, now: now).findings.first {
                $0.subject == "collector default/main"
            }
            #expect(found?.text == text && found?.level == .failure, "\(String(describing: found))")
            #expect(found?.advice?.contains("lockstep forget --collector default/main") == (age > 120))
        }
    }
}
