import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Declared streams, end to end", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct DeclaredStreamSystemTests {
    private static let section = """
        streams:
          x/co2:
            summary: Carbon dioxide in the room
            columns:
              ppm: {kind: real, unit: ppm, aggregate: mean}
              state: {kind: choice, words: [ok, warming], required: false}
        """

    private func write(_ text: String, _ name: String, in system: TestSystem) throws -> String {
        let path = "\(system.folder)/\(name)"
        try (text + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// Runs `lockstep` with the store of the system.
    private func lockstep(_ arguments: [String], _ system: TestSystem) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"), arguments + ["--store", "sqlite:\(system.storePath)"])
    }

    @Test("samples of a recording reach the store and are queried without settings")
    func replay() async throws {
        try await withSystem { system in
            let settings = try write(Self.section, "streams.yaml", in: system)
            let recording = try write(
                "t_us,ppm,state\n1700000000000000,400,warming\n1700000001000000,420,ok\n1700000060000000,440,",
                "co2.csv",
                in: system)
            _ = try system.startCollector(["--config", settings])
            try await system.waitForSubscription()
            let agent = try system.startAgent(
                "room", source: "replay:\(recording)", ["--config", settings, "--speed", "max", "--stamp", "own"])
            #expect(await agent.waitForExit(within: .seconds(60)) == 0, "\(agent.text)")

            let samples = try await lockstep(["query", "x/co2", "--csv"], system)
            let lines = samples.text.split(separator: "\n").map(String.init)
            #expect(lines.count == 4 && lines[0].hasSuffix("ppm,state"), "\(samples.text)")
            #expect(lines[1].hasSuffix(",400.0,warming") && lines[3].hasSuffix(",440.0,"), "\(samples.text)")
            let means = try await lockstep(["query", "x_co2", "--every", "1m", "--csv"], system)
            #expect(
                means.text.contains(",410.0,2,samples\n") && means.text.contains(",440.0,1,samples\n"),
                "\(means.text)")
            let devices = try await lockstep(["devices"], system)
            #expect(devices.text.contains("default/room"), "\(devices.text)")
            let verified = try await system.verify(["room"])
            #expect(verified.status == 0, "\(verified.text)")
            let unknown = try await lockstep(["query", "x/co3"], system)
            #expect(unknown.status != 0 && unknown.text.contains("x/co3") && unknown.text.contains("x/co2"))
        }
    }

    @Test(
        "a batch that any client publishes is stored and watched, and an undeclared stream is rejected with advice",
        .enabled(if: Programs.isInstalled("mosquitto_pub"), "mosquitto-clients is not installed"))
    func anyClient() async throws {
        try await withSystem { system in
            let settings = try write(Self.section, "streams.yaml", in: system)
            _ = try system.startCollector(["--config", settings])
            try await system.waitForSubscription()
            let watch = try system.start(
                "lockstep", ["watch", "--broker", system.broker.url, "--config", settings, "--json", "--batches"])
            #expect(await watch.waitForOutput(#""event":"collector""#))
            func publish(_ channel: String, _ payload: String) async throws {
                let published = try await RunningProgram.run(
                    Programs.installed("mosquitto_pub") ?? "",
                    ["-p", "\(system.broker.port)", "-q", "1", "-t", "lockstep/lab/pi/\(channel)", "-m", payload])
                #expect(published.status == 0)
            }
            try await publish("x/co2", #"{"t":1700000000000000,"dt":1000000,"ppm":[400,410],"state":["ok",null]}"#)
            try await publish("x/co2", #"{"t":1700000000000000,"pmm":[400]}"#)
            try await publish("x/rain", #"{"t":1700000000000000,"mm":[1]}"#)
            #expect(
                await watch.waitForOutput(#""stream":"x/co2","batch":{"v":1,"t":1700000000000000"#), "\(watch.text)")

            let reader = try await system.reader()
            try await expectEventually { try reader.devices().first?.samples == 2 }
            let reasons = [
                "'ppm' is missing", "the stream 'x/rain' is not declared: declare its columns in the section",
            ]
            for reason in reasons {
                try await expectEventually("rejected because \(reason)") {
                    try await RunningProgram.run(
                        Programs.installed("sqlite3") ?? "", [system.storePath, "SELECT reason FROM rejected"]
                    ).text.contains(reason)
                }
            }
        }
    }

    @Test("a declaration that does not match the store is refused at start, with file and line")
    func conflict() async throws {
        try await withSystem { system in
            let settings = try write(Self.section, "streams.yaml", in: system)
            let first = try system.startCollector(["--config", settings])
            try await system.waitForSubscription()
            await first.stop(SIGTERM)
            let other = try write(
                "# changed\n" + Self.section.replacingOccurrences(of: "unit: ppm", with: "unit: '%'"), "other.yaml",
                in: system)
            let refused = try system.startCollector(["--config", other])
            #expect(await refused.waitForExit() != 0)
            #expect(refused.text.contains("\(other):3: the declaration of 'x/co2' does not match the store"))
            #expect(
                refused.text.contains("the column 'ppm' has the unit 'ppm' in the store, but '%' in the declaration"))

            let wrong = try write(
                Self.section.replacingOccurrences(of: "kind: real", with: "kind: float"), "wrong.yaml", in: system)
            for program in ["lockstep-agent", "lockstep-collector"] {
                let failed = try system.start(
                    program,
                    ["--config", wrong, "--broker", system.broker.url]
                        + (program == "lockstep-agent"
                            ? ["--source", "simulate"] : ["--store", "sqlite:\(system.storePath)"]))
                #expect(await failed.waitForExit() != 0)
                #expect(failed.text.contains("\(wrong):5: column 'ppm' of stream 'x/co2': unknown kind 'float'"))
            }
        }
    }

    @Test("an agent keeps samples that are rejected because the collector lacks the declaration, and sends them later")
    func declaredLater() async throws {
        try await withSystem { system in
            let settings = try write(Self.section, "streams.yaml", in: system)
            let recording = try write("t_us,ppm\n1700000000000000,400\n1700000001000000,420", "co2.csv", in: system)
            let first = try system.startCollector()
            try await system.waitForSubscription()
            let agent = try system.startAgent(
                "room", source: "replay:\(recording)", ["--config", settings, "--speed", "max", "--stamp", "own"])
            try await expectEventually {
                try await RunningProgram.run(
                    Programs.installed("sqlite3") ?? "", [system.storePath, "SELECT reason FROM rejected"]
                ).text.contains("the stream 'x/co2' is not declared")
            }
            await first.stop(SIGTERM)
            _ = try system.startCollector(["--config", settings])
            #expect(await agent.waitForExit(within: .seconds(120)) == 0, "\(agent.text)")
            let verified = try await system.verify(["room"])
            #expect(verified.status == 0, "\(verified.text)")
        }
    }
}
