import Foundation
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@Suite("lockstep calibrate", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct CalibrationSystemTests {
    /// The median difference of |a| from 1 g in the newest three batches after the message `index`, in g; nil if there are fewer.
    private func error(_ client: TestClient, from index: Int) -> Double? {
        let batches = client.messages.dropFirst(index).filter { $0.topic.hasSuffix("motion/accelerometer") }.suffix(3)
        guard batches.count == 3 else { return nil }
        let errors = batches.flatMap { message -> [Double] in
            guard let samples = try? BatchJSON.decode(Data(message.payload), stream: .accelerometer).samples else {
                return []
            }
            return samples.times.indices.map { index in
                let values = samples.values(at: index)
                return abs((values[0] * values[0] + values[1] * values[1] + values[2] * values[2]).squareRoot() - 1)
            }
        }
        return errors.sorted()[errors.count / 2]
    }

    private func run(_ system: TestSystem, _ arguments: [String]) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"), ["calibrate", "walker", "--broker", system.broker.url] + arguments,
            within: .seconds(300))
    }

    @Test("the agent publishes calibrated samples, also after it was killed, until the calibration is undone")
    func wholeLife() async throws {
        try await withSystem { system in
            let recording = system.folder + "/wrong.csv"
            try WrongRecording.text(repetitions: 60).write(toFile: recording, atomically: true, encoding: .utf8)
            let client = try await system.connect()
            func startAgent() throws -> RunningProgram {
                // Faster than a person, so that the test is shorter.
                try system.startAgent(
                    "walker", source: "replay:\(recording)", ["--speed", "4", "--rate", "motion/accelerometer=50"])
            }
            var agent = try startAgent()
            await expectEventually { error(client, from: 0).map { $0 > 0.01 } == true }
            #expect(try await run(system, ["--show", "--json"]).text == "null\n")

            let calibrated = try await run(system, [])
            #expect(calibrated.status == 0, "\(calibrated.text)")
            #expect(calibrated.text.contains("9 of 9: ") && calibrated.text.contains("in 9 positions"))
            let first = client.messages.count
            await expectEventually { error(client, from: first).map { $0 < 0.004 } == true }
            await client.expectMessage { $0.topic.hasSuffix("presence") && $0.text.contains(#""calibration":{"t":"#) }

            await agent.stop(SIGKILL)
            let second = client.messages.count
            agent = try startAgent()
            await expectEventually { error(client, from: second) != nil }
            let errorAfterRestart = try #require(error(client, from: second))
            #expect(errorAfterRestart < 0.004)
            let shown = try await run(system, ["--show", "--json"])
            let calibration = try CalibrationJSON.decode(Data(shown.text.utf8))
            #expect(abs(calibration.offset.x - 0.08) < 0.002 && calibration.errorAfter < 0.002, "\(shown.text)")

            // A calibrated device can be calibrated again: the result is that of its sensors, not that of calibrated samples.
            let again = try await run(system, ["--json"])
            #expect(again.status == 0, "\(again.text)")
            await expectEventually {
                let shown = try? await run(system, ["--show", "--json"])
                let new = shown.flatMap { try? CalibrationJSON.decode(Data($0.text.utf8)) }
                return new.map { $0.time > calibration.time && abs($0.offset.x - calibration.offset.x) < 0.002 } == true
            }

            let undone = try await run(system, ["--undo"])
            #expect(undone.status == 0 && undone.text == "calibration removed\n")
            let third = client.messages.count
            await expectEventually { error(client, from: third).map { $0 > 0.01 } == true }
            #expect(try await run(system, ["--show"]).text == "not calibrated\n")
        }
    }

    @Test("a recording of the positions calibrates a device, or only shows the result")
    func fromRecording() async throws {
        try await withSystem { system in
            let recording = system.folder + "/wrong.csv"
            try WrongRecording.text().write(toFile: recording, atomically: true, encoding: .utf8)
            let only = try await RunningProgram.run(
                Programs.built("lockstep"), ["calibrate", "--from", recording, "--json"])
            let calibration = try CalibrationJSON.decode(Data(only.text.utf8))
            #expect(calibration.positions == 9 && abs(calibration.offset.y + 0.05) < 0.002, "\(only.text)")
            let agent = try system.startAgent("walker")
            #expect(await agent.waitForOutput("connected to"))
            let client = try await system.connect()
            await client.expectMessage { $0.topic.hasSuffix("motion/accelerometer") }
            let stored = try await run(system, ["--from", recording])
            #expect(stored.status == 0 && stored.text.contains("in 9 positions"), "\(stored.text)")
            #expect(await agent.waitForOutput("calibration stored"))
            let missing = system.folder + "/missing.csv"
            let some = WrongRecording.text().split(separator: "\n").prefix(1 + 4 * 150).joined(separator: "\n") + "\n"
            try some.write(toFile: missing, atomically: true, encoding: .utf8)
            let refused = try await run(system, ["--from", missing])
            #expect(
                refused.status != 0
                    && refused.text.contains("did not lie still on these sides: landscapeLeft, landscapeRight"),
                "\(refused.text)")
            #expect(try await run(system, ["--show"]).text.hasPrefix("calibrated "))
        }
    }

    @Test("Ctrl-C ends the guidance, ends its leases, and changes nothing")
    func interruption() async throws {
        try await withSystem { system in
            _ = try system.startAgent("walker")
            let client = try await system.connect()
            await client.expectMessage { $0.topic.hasSuffix("motion/accelerometer") }
            let guidance = try system.start("lockstep", ["calibrate", "walker", "--broker", system.broker.url])
            #expect(await guidance.waitForOutput("1 of 9: "))
            func leases(_ text: String) -> [TestClient.Message] {
                client.messages.filter { $0.topic == "lockstep/default/walker/command" && $0.text.contains(text) }
            }
            // Nine positions of three minutes at most.
            #expect(leases(#""hz":50,"lease_s":1620"#).count == 2)
            guidance.signal(SIGINT)
            #expect(await guidance.waitForExit() == 130, "\(guidance.text)")
            #expect(leases(#""hz":0"#).count == 2)
            #expect(try await run(system, ["--show"]).text == "not calibrated\n")
        }
    }

    @Test("a recording that began after a calibration counts as recorded with it, and the command says so")
    func laterRecording() async throws {
        try await withSystem { system in
            let (raw, later) = (system.folder + "/raw.csv", system.folder + "/later.csv")
            try WrongRecording.text().write(toFile: raw, atomically: true, encoding: .utf8)
            let tomorrow = Moment.now().wall.microseconds + 86_400_000_000
            try WrongRecording.text(start: tomorrow, isCalibrated: true)
                .write(toFile: later, atomically: true, encoding: .utf8)
            _ = try system.startAgent("walker")
            let client = try await system.connect()
            await client.expectMessage { $0.topic.hasSuffix("motion/accelerometer") }
            let note = "the recording began after the calibration of "
            var offsets: [SIMD3<Double>] = []
            // One from before the calibration has raw values.
            for (recording, isNoted) in [(raw, false), (raw, false), (later, true)] {
                let stored = try await run(system, ["--from", recording])
                #expect(stored.status == 0 && stored.text.contains(note) == isNoted, "\(stored.text)")
                let shown = try await run(system, ["--show", "--json"])
                offsets.append(try CalibrationJSON.decode(Data(shown.text.utf8)).offset)
            }
            for axis in 0..<3 { #expect(abs(offsets[2][axis] - offsets[0][axis]) < 0.002, "\(offsets)") }
        }
    }
}
