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

    @Test("does not start with another store, whatever its groups are, and starts when the first one has stopped")
    func otherStore() async throws {
        try await withSystem { system in
            // Its reports are what the others wait for.
            let first = try LocalCollector("store.db", system, healthInterval: 0.3)
            try await system.waitForSubscription()
            let agent = try system.startAgent("walker")
            #expect(await first.waitForOutput("state changed device=default/walker"), "\(first.text)")
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
            #expect(first.connections == 1, "the first collector must keep its connection: \(first.text)")
            try await first.stop()
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

    @Test("the broker has kept the report of a collector that is gone: it waits for three intervals, and then connects")
    func retainedReport() async throws {
        try await withSystem { system in
            let client = try await system.connect([Self.topic])
            #expect(await client.publish(Self.topic, Self.report, isRetained: true))
            let start = ContinuousClock.now
            let collector = try LocalCollector("new.db", system, healthInterval: 1)
            #expect(await collector.waitForOutput("connected to"), "\(collector.text)")
            #expect(ContinuousClock.now - start >= .seconds(3), "it must wait for a report: \(collector.text)")
            #expect(collector.text.contains("checking whether another collector"), "\(collector.text)")
            try await collector.stop()
        }
    }

    /// A report of another collector, whose store differs from all others.
    private static let report =
        #"{"status":"online","at":1,"devices":1,"stored":1,"duplicates":0,"conflicts":0,"rejected":0,"started":1,"#
        + #""store":{"id":"0123456789abcdef","name":"/old.db","host":"gone"}}"#

    @Test(
        "replaces the first one with --take-over, and the first one continues when the second one has stopped",
        arguments: MQTTVersion.allCases)
    func takeOver(version: MQTTVersion) async throws {
        try await withSystem { system in
            let first = try LocalCollector("store.db", system, healthInterval: 10, version: version)
            try await system.waitForSubscription()
            let second = try LocalCollector(
                "other.db", system, healthInterval: 0.3, version: version, takesOver: true)
            #expect(await second.waitForOutput("connected to"), "\(second.text)")
            #expect(await first.waitForOutput("staying disconnected"), "\(first.text)")
            #expect(first.text.contains("/other.db"), "\(first.text)")
            #expect(first.connections == 1 && second.connections == 1, "\(first.text)\(second.text)")
            try await second.stop()
            #expect(await first.waitForOutput("the other collector with this id is gone"), "\(first.text)")
            await expectEventually(first.text, within: .seconds(120)) { first.connections == 2 }
            try await first.stop()
        }
    }

    @Test("with --take-over, reports its store before and after it connects")
    func announcement() async throws {
        try await withSystem { system in
            let client = try await system.connect([Self.topic])
            let collector = try LocalCollector("other.db", system, healthInterval: 3600, takesOver: true)
            await expectEventually(collector.text) {
                client.messages.count { $0.text.contains("/other.db") && $0.text.contains(#""status":"online""#) } >= 2
            }
            try await collector.stop()
        }
    }

    @Test("keeps the session although its first report is late")
    func lateReport() async throws {
        try await withSystem { system in
            let first = try LocalCollector("store.db", system, healthInterval: 60)
            try await system.waitForSubscription()
            let client = try await system.connect(["unused"])
            #expect(await client.publish(Self.topic, Self.report, isRetained: true))
            let second = TestClient(
                system.broker.address, filters: ["unused"], version: .three, id: Self.clientID, keepsSession: true)
            #expect(await second.waitUntilListening())
            #expect(await first.waitForOutput("checking whether another collector"), "\(first.text)")
            #expect(await client.publish(Self.topic, Self.report, isRetained: true))
            #expect(await first.waitForOutput("staying disconnected"), "\(first.text)")
            #expect(first.connections == 1, "\(first.text)")
            await second.stop()
            try await first.stop()
        }
    }

    /// The client id of the collectors.
    private static let clientID = "lockstep-collector-main"

    @Test("that reports nothing and disconnects the first one again and again is noticed, which then waits for 30 s")
    func repeatedTakeover() async throws {
        try await withSystem { system in
            let first = try LocalCollector("store.db", system, healthInterval: 10, version: .three)
            let problem = "another collector uses the same id"
            let deadline = ContinuousClock.now + .seconds(180)
            var count = 0
            while !first.text.contains(problem), ContinuousClock.now < deadline {
                guard first.connections > count else {
                    try await Task.sleep(for: .milliseconds(20))
                    continue
                }
                count = first.connections
                let second = TestClient(
                    system.broker.address, filters: ["unused"], version: .three, id: Self.clientID, keepsSession: true)
                #expect(await second.waitUntilListening())
                await second.stop()
            }
            let line = first.text.split(separator: "\n").first { $0.hasPrefix(problem) }
            #expect(line?.contains("retry_in=30s") == true, "\(first.text)")
            try await first.stop()
        }
    }

    @Test("keeps the session when the first one, whose connection was lost, comes back")
    func comesBack() async throws {
        try await withSystem(isPersistent: true) { system in
            let first = try system.startCollector()
            #expect(await first.waitForOutput("connected to"))
            // While it is stopped, the broker gives it up, as after a failure of its network.
            first.signal(SIGSTOP)
            await system.broker.stop(SIGKILL)
            try await system.broker.start()
            let second = try LocalCollector("other.db", system, healthInterval: 0.3)
            #expect(await second.waitForOutput("connected to"), "\(second.text)")
            first.signal(SIGCONT)
            #expect(await first.waitForOutput("staying disconnected", within: .seconds(120)), "\(first.text)")
            #expect(second.connections == 1, "\(second.text)")
            try await second.stop()
        }
    }
}
