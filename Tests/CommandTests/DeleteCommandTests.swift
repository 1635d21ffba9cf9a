import Foundation
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("lockstep delete")
struct DeleteCommandTests {
    @Test("without a collector, the command deletes; a preview and a missing --yes delete nothing")
    func withoutCollector() async throws {
        try await withStore { store in
            let stream = ["delete", "--device", "default/left", "--stream", "accelerometer"]
            let preview = try await lockstep(stream + ["--all", "--dry-run"], store)
            #expect(preview.status == 0 && preview.text.contains("motion/accelerometer  2 samples"), "\(preview.text)")
            let unasked = try await lockstep(stream + ["--all"], store)
            #expect(unasked.status != 0 && unasked.text.contains("--yes"), "\(unasked.text)")
            let unlimited = try await lockstep(stream + ["--yes"], store)
            #expect(unlimited.status != 0 && unlimited.text.contains("--all"), "\(unlimited.text)")
            #expect(try StoreReader(path: store).deletions(of: nil).isEmpty)
            let done = try await lockstep(stream + ["--all", "--yes", "--reason", "wrong"], store)
            #expect(done.status == 0 && done.text.contains("Deleted 2 samples of default/left."), "\(done.text)")
            let rest = try StoreReader(path: store).verification().first { $0.address.device.rawValue == "left" }
            #expect(rest?.samples.map(\.stream.name) == ["location"])
            let list = try await lockstep(["delete", "--list"], store)
            #expect(list.text.contains("default/left  motion/accelerometer  … – "), "\(list.text)")
            #expect(list.text.contains("2 samples deleted, 0 arrived later") && list.text.contains(": wrong"))
            let verify = try await lockstep(["verify", "--device", "default/left"], store)
            #expect(verify.text.contains("  1 sample\n") && verify.text.contains("missing 2"), "\(verify.text)")
        }
    }

    @Test("without a collector, samples that have waited and expired meanwhile reach the summaries that are kept")
    func keptSummaries() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            let minute: Int64 = 60_000_000
            let start: Int64 = 1_700_000_000_000_000 / minute * minute
            try {
                var options = SQLiteStore.Options()
                let rule = try (pattern: StreamPattern("motion/*"), age: Int64?(60 * minute))
                options.retention.rules = try KeepRules([rule])
                options.retention.summaryRules = try KeepRules([(rule.pattern, nil)])
                options.retention.isConfirmed = true
                options.retention.wallTime = { start + 200 * minute }
                let store = try SQLiteStore(path: path, options: options)
                func write(_ times: [Int64], _ device: String) throws {
                    let samples = block(times, x: times.map { _ in 1 })
                    try store.write(IngestGroup(batches: [received(samples, device, nil)]))
                }
                try write((0..<300).map { start + $0 * 100_000 }, "left")
                try store.mergeAll()
                try write([start + 1], "left")
                try write([start + 200 * minute], "right")
                while store.needsRemoval { store.performRemoval(maxDuration: .milliseconds(50)) }
            }()
            let database = try SQLiteDatabase(path: path, mode: .readOnly)
            let samples = "SELECT samples FROM _minutes_accelerometer"
            #expect(try database.integer(samples) == 300)
            let run = try await lockstep(["delete", "--device", "default/right", "--all", "--yes"], path)
            #expect(run.status == 0, "\(run.text)")
            #expect(try database.integer(samples) == 301)
        }
    }

    @Test("a running collector deletes what the command asks for, and does not store what arrives again")
    func withCollector() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect(["none"])
            func publish(_ seq: Int) async {
                let batch = #"{"v":1,"epoch":"e","seq":\#(seq),"t":1000000,"dt":1000,"pressure":[1,2,3,4]}"#
                #expect(await client.publish("lockstep/lab/bulk/pressure", batch))
            }
            await publish(1)
            let reader = try StoreReader(path: system.storePath)
            try await expectEventually("the samples") { try reader.devices().first?.samples == 4 }
            let run = try await RunningProgram.run(
                Programs.built("lockstep"),
                [
                    "delete", "--store", "sqlite:\(system.storePath)", "--broker", system.broker.url, "--device",
                    "bulk",
                    "--from", "1001000", "--to", "1003000", "--yes",
                ])
            #expect(run.status == 0 && run.text.contains("Deleted 2 samples of lab/bulk."), "\(run.text)")
            await publish(2)
            try await expectEventually("the refusal") { try reader.deletions(of: nil).first?.refused == 2 }
            let device = try #require(try reader.devices().first)
            #expect(device.samples == 2 && device.duplicates == 2 && device.missing == 0)
        }
    }
}
