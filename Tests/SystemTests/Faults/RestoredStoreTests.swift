import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "A store restored from an older copy", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed")
)
struct RestoredStoreTests {
    @Test("a restored store gets the batches that agents still hold, and reports the others as missing")
    func restored() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            let agent = try system.startAgent("walker")
            let reader = try await system.reader()
            try await waitForWatermark(15, reader)
            let copy = system.folder + "/yesterday.db"
            try await backup(of: system.storePath, to: copy)
            let copied = try watermark(try StoreReader(path: copy))
            try await waitForWatermark(copied + 30, reader)

            // The agent keeps running while the collector is down, so it holds batches when the collector restarts.
            await first.stop(SIGKILL)
            let lost = try watermark(reader)
            let outbox = try SQLiteDatabase(path: system.outbox(of: "walker"), mode: .readOnly)
            try await expectEventually(within: .seconds(120)) {
                try outbox.integer("SELECT count(*) FROM batches") > 20
            }
            try await backup(of: copy, to: system.storePath)
            let second = try system.startCollector()
            #expect(await second.waitForOutput("connected to"))
            let restored = try await system.reader()
            try await expectEventually("\(agent.text)\(second.text)", within: .seconds(120)) {
                try outbox.integer("SELECT count(*) FROM batches WHERE seq <= \(lost + 20)") == 0
                    && restored.verification().first?.epochs.first?.received.last ?? 0 > lost + 20
            }
            let sent = agent.text.components(separatedBy: "connected to").count
            #expect(sent == 2, "the agent must not reconnect repeatedly: \(agent.text)")
            await agent.stop()
            try await system.drain("walker")

            // Only batches that were acknowledged after the copy, and so deleted by the agent, are missing.
            let epoch = try #require(try restored.verification().first?.epochs.first)
            let gaps = epoch.missing.ranges
            #expect(gaps.count == 1, "\(gaps)")
            #expect(
                gaps.first.map { $0.lowerBound > copied && $0.upperBound <= lost } == true, "\(gaps) \(copied) \(lost)")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 1)
            let doctor = try await RunningProgram.run(
                Programs.built("lockstep"), ["doctor", "--broker", system.broker.url, "--seconds", "1"])
            #expect(doctor.text.contains("the store was restored from an older copy"), "\(doctor.text)")
        }
    }

    private func backup(of store: String, to path: String) async throws {
        let run = try await RunningProgram.run(
            Programs.built("lockstep"), ["backup", "--store", "sqlite:\(store)", "--force", path])
        #expect(run.status == 0, "\(run.text)")
    }

    private func waitForWatermark(_ seq: Int64, _ reader: StoreReader) async throws {
        try await expectEventually("batch \(seq)", within: .seconds(120)) { try watermark(reader) >= seq }
    }

    private func watermark(_ reader: StoreReader) throws -> Int64 {
        try reader.verification().first?.epochs.first?.received.watermark ?? 0
    }
}
