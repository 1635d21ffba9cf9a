import Foundation
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Damaged files", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct DamagedFileTests {
    /// The damaged part: the first bytes, or all pages except for the first few.
    enum Damage: CaseIterable {
        case header, middle
    }

    @Test("a damaged store is refused with advice and not changed", arguments: Damage.allCases)
    func store(_ damage: Damage) async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            let agent = try system.startAgent("walker")
            try await waitForSamples(in: system)
            await agent.stop()
            await first.stop()
            // Otherwise the log could hold intact copies of the damaged pages.
            #expect(try contents(of: system.storePath + "-wal").isEmpty)

            let damaged = try self.damage(system.storePath, damage)
            let collector = try system.startCollector()
            if damage == .header {
                #expect(await collector.waitForExit() == 1)
                #expect(collector.text.contains("choose another file"), "\(collector.text)")
            } else {
                // The damage is detected when the pages are first read: at the start, or with the first sample.
                _ = try system.startAgent("walker")
                #expect(
                    await collector.waitForOutput("is damaged: stop the collector, keep a copy", within: .seconds(120)))
            }
            await collector.stop()
            #expect(try contents(of: system.storePath) == damaged)
            // The agent keeps its samples meanwhile.
            #expect(FileManager.default.fileExists(atPath: system.outbox(of: "walker")))
        }
    }

    @Test("a damaged outbox is refused with advice and not changed", arguments: Damage.allCases)
    func outbox(_ damage: Damage) async throws {
        try await withSystem { system in
            // Without a broker everything stays in the outbox.
            let nowhere = "mqtt://127.0.0.1:1"
            let first = try system.startAgent("walker", url: nowhere)
            let path = system.outbox(of: "walker")
            // The stop copies the log into the file.
            await expectEventually { (try? contents(of: path + "-wal").count) ?? 0 > 150_000 }
            await first.stop()
            #expect(try contents(of: path).count > 100_000)

            let damaged = try self.damage(path, damage)
            let agent = try system.startAgent("walker", url: nowhere)
            #expect(await agent.waitForExit() == 1, "\(agent.text)")
            #expect(agent.text.contains("'\(path)' is damaged or not an outbox. Move it away"), "\(agent.text)")
            #expect(try contents(of: path) == damaged)

            // The advice in the error works.
            try FileManager.default.moveItem(atPath: path, toPath: path + "-damaged")
            let again = try system.startAgent("walker", url: nowhere)
            #expect(await again.waitForOutput("outbox_batches=0"))
        }
    }

    private func waitForSamples(in system: TestSystem) async throws {
        let reader = try await system.reader()
        try await expectEventually { try reader.devices().first.map { $0.samples > 600 } ?? false }
    }

    private func contents(of path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    /// Damages a file.
    /// - Returns: The new contents.
    private func damage(_ path: String, _ damage: Damage) throws -> Data {
        var bytes = try contents(of: path)
        switch damage {
        case .header: bytes.replaceSubrange(0..<100, with: Data(repeating: 0x55, count: 100))
        case .middle:
            // The first pages contain the schema.
            let first = 4096 * 8
            bytes.replaceSubrange(first..., with: Data(repeating: 0x55, count: bytes.count - first))
        }
        try bytes.write(to: URL(fileURLWithPath: path))
        return bytes
    }
}
