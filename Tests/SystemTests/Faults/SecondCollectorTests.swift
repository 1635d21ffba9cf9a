import Foundation
import LockstepMQTT
import LockstepTestSupport
import Testing

@Suite(
    "A second collector with the same id", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed")
)
struct SecondCollectorTests {
    private static let topic = "lockstep/default/$collector/main"

    private func start(_ store: String, _ system: TestSystem, _ options: [String] = []) throws -> RunningProgram {
        try system.start(
            "lockstep-collector",
            ["--broker", system.broker.url, "--store", "sqlite:\(system.folder)/\(store)"] + options)
    }

    private func connections(of program: RunningProgram) -> Int {
        program.text.components(separatedBy: "connected to broker").count - 1
    }

    @Test("does not start with another store, whatever its groups are, and starts when the first one has stopped")
    func otherStore() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            try await system.waitForSubscription()
            let agent = try system.startAgent("walker")
            #expect(await first.waitForState("active", of: "default/walker", within: .seconds(120)))
            let others = [
                try start("other.db", system), try start("lab.db", system, ["--group", "lab"]),
            ]
            for second in others {
                #expect(await second.waitForExit(within: .seconds(120)) == 1)
                for part in [
                    "Error: a collector with the id 'main' is running on ", "/store.db, another store than ",
                    "Stop that collector, or give this one its own id with --id",
                ] { #expect(second.text.contains(part), "\(second.text)") }
                #expect(!second.text.contains("connected to"), "\(second.text)")
            }

            let third = try start("third.db", system, ["--id", "third"])
            #expect(await third.waitForOutput("connected to"), "\(third.text)")
            await third.stop()

            await agent.stop()
            try await system.drain("walker")
            #expect(connections(of: first) == 1, "the first collector must keep its connection: \(first.text)")
            await first.stop()
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
            let last = try start("other.db", system)
            #expect(await last.waitForOutput("connected to"), "\(last.text)")
        }
    }

    @Test("is no earlier run of the same collector: after SIGKILL it starts, also with a copy of the store")
    func killed() async throws {
        try await withSystem { system in
            for _ in 1...2 {
                let collector = try system.startCollector()
                #expect(await collector.waitForOutput("connected to"), "\(collector.text)")
                await collector.stop(SIGKILL)
            }
            try FileManager.default.moveItem(atPath: system.storePath, toPath: system.folder + "/moved.db")
            try FileManager.default.copyItem(atPath: system.folder + "/moved.db", toPath: system.storePath)
            let copy = try system.startCollector()
            #expect(await copy.waitForOutput("connected to"), "\(copy.text)")
        }
    }

    // The three checks wait for the health reports of collectors, so they run at the same time.
    @Test("waits as long as another one may be running, and no longer")
    func waiting() async throws {
        async let retained: Void = retainedReport()
        async let replaced: Void = takeOver()
        async let returned: Void = comesBack()
        _ = try await (retained, replaced, returned)
    }

    /// The broker has kept the report of a collector that is gone.
    private func retainedReport() async throws {
        try await withSystem { system in
            let client = try await system.connect([Self.topic])
            let report =
                #"{"status":"online","at":1,"devices":1,"stored":1,"duplicates":0,"conflicts":0,"rejected":0,"started":1,"#
                + #""store":{"id":"0123456789abcdef","name":"/old.db","host":"gone"}}"#
            #expect(await client.publish(Self.topic, report, isRetained: true))
            let collector = try start("new.db", system)
            #expect(await collector.waitForOutput("connected to", within: .seconds(120)), "\(collector.text)")
            #expect(
                collector.text.contains("checking whether another collector with this id is running"),
                "\(collector.text)")
        }
    }

    /// The second one replaces the first one, which continues when the second one has stopped.
    private func takeOver() async throws {
        try await withSystem { system in
            let first = try system.startCollector(["--mqtt", "5"])
            try await system.waitForSubscription()
            let second = try start("other.db", system, ["--take-over"])
            #expect(await second.waitForOutput("connected to"), "\(second.text)")
            #expect(await first.waitForOutput("staying disconnected", within: .seconds(120)), "\(first.text)")
            #expect(first.text.contains("/other.db"), "\(first.text)")
            #expect(connections(of: first) == 1 && connections(of: second) == 1)
            await second.stop()
            #expect(
                await first.waitForOutput("the other collector with this id is gone", within: .seconds(120)),
                "\(first.text)")
            await expectEventually(first.text, within: .seconds(60)) { connections(of: first) == 2 }
        }
    }

    /// The first one was away, and the second one keeps the session when it comes back.
    private func comesBack() async throws {
        try await withSystem(isPersistent: true) { system in
            let first = try system.startCollector()
            #expect(await first.waitForOutput("connected to"))
            // While it is stopped, the broker gives it up, as after a failure of its network.
            first.signal(SIGSTOP)
            await system.broker.stop(SIGKILL)
            try await system.broker.start()
            let second = try start("other.db", system)
            #expect(await second.waitForOutput("connected to", within: .seconds(120)), "\(second.text)")
            first.signal(SIGCONT)
            #expect(await first.waitForOutput("staying disconnected", within: .seconds(120)), "\(first.text)")
            #expect(connections(of: second) == 1, "\(second.text)")
        }
    }
}
