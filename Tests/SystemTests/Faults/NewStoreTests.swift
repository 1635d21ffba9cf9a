import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("A new store", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct NewStoreTests {
    @Test("batches that an earlier store has are not missing in a new one, and those on their way arrive")
    func newYear() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            let agent = try system.startAgent("walker")
            let old = try await system.reader()
            try await expectEventually { try old.verification().first?.epochs.first?.received.watermark ?? 0 > 150 }
            await first.stop()
            let path = system.folder + "/new.db"
            let second = try system.start(
                "lockstep-collector", ["--broker", system.broker.url, "--store", "sqlite:\(path)"])
            await expectEventually("\(agent.text)\(second.text)", within: .seconds(60)) {
                guard let epoch = try? StoreReader(path: path).verification().first?.epochs.first else { return false }
                return (epoch.earlier.last ?? 0) > 100 && epoch.received.last ?? 0 > (epoch.earlier.last ?? 0) + 5
            }
            await agent.stop()
            // If the first collector did not acknowledge what it had stored, some batches would still be on their way.
            var verified: (status: Int32, text: String) = (1, "")
            try await expectEventually("\(verified.text)\(agent.text)") {
                verified = try await RunningProgram.run(
                    Programs.built("lockstep"), ["verify", "--store", "sqlite:\(path)"])
                return verified.status == 0
            }
            #expect(verified.text.contains("before this store 1-"), "\(verified.text)")
        }
    }
}
