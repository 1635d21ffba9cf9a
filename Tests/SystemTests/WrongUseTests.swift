import Foundation
import LockstepTestSupport
import Testing

@Suite("Wrong use", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct WrongUseTests {
    @Test("an unreachable broker is reported once, and the agent keeps trying")
    func noBroker() async throws {
        try await withSystem { system in
            await system.broker.stop()
            let agent = try system.startAgent("walker")
            #expect(await agent.waitForOutput("cannot connect to broker"))
            try await system.broker.start()
            #expect(await agent.waitForOutput("connected to", within: .seconds(120)))
            #expect(agent.text.components(separatedBy: "Connection refused").count == 2, "\(agent.text)")
        }
    }

    @Test("a collector with an unwritable store exits with the reason")
    func unwritableStore() async throws {
        try await withSystem { system in
            for (path, reason) in [
                ("/nowhere/store.db", "/nowhere"), (system.folder, system.folder), ("/proc/store.db", "/proc"),
            ] {
                let run = try await RunningProgram.run(
                    Programs.built("lockstep-collector"),
                    ["--broker", system.broker.url, "--store", "sqlite:\(path)"])
                #expect(run.status == 1)
                #expect(run.text.contains("Error: ") && run.text.contains(reason), "\(run.text)")
            }
        }
    }

    @Test("a second collector on the same store is refused, and the error names the first one")
    func secondCollector() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            #expect(await first.waitForOutput("connected to"))
            let second = try system.startCollector(["--id", "second"])
            #expect(await second.waitForExit() == 1)
            #expect(second.text.contains("another collector (process \(first.pid))"), "\(second.text)")
        }
    }

    @Test(
        "an invalid option is refused with the valid values",
        arguments: [
            (["--source", "telepathy"], "unknown source 'telepathy'"),
            ([], "no source"),
            (["--source", "simulate", "--device", "a/b"], "'a/b' is not a device id"),
            (["--source", "simulate", "--broker", "localhost"], "use mqtt[s]://"),
            (["--source", "simulate", "--window", "soon"], "is not a duration"),
            (["--source", "replay:/nowhere.csv"], "/nowhere.csv"),
            (
                ["--source", "simulate", "--config", "/nowhere.yaml"],
                "cannot read the configuration file /nowhere.yaml"
            ),
            (["--source", "simulate", "--mqtt", "4"], "auto, 5 or 3.1.1"),
        ])
    func wrongOption(arguments: [String], reason: String) async throws {
        let run = try await RunningProgram.run(Programs.built("lockstep-agent"), arguments)
        #expect(run.status != 0)
        #expect(run.text.contains(reason), "\(run.text)")
    }

    @Test("the command line overrides the environment, and the environment overrides the settings file")
    func precedence() async throws {
        try await withSystem { system in
            let file = system.folder + "/agent.yaml"
            try """
            broker: \(system.broker.url)
            device: from-file
            source: [simulate:1]
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let runs: [([String], [String: String], String)] = [
                ([], [:], "from-file"), ([], ["LOCKSTEP_DEVICE": "from-environment"], "from-environment"),
                (["--device", "from-line"], ["LOCKSTEP_DEVICE": "from-environment"], "from-line"),
            ]
            for (arguments, environment, device) in runs {
                let agent = try system.start(
                    "lockstep-agent", ["--config", file, "--outbox", system.outbox(of: device)] + arguments,
                    environment: environment)
                #expect(await agent.waitForOutput("device=default/\(device) "), "\(agent.text)")
                await agent.stop()
            }
        }
    }
}
