import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "Retention by a running collector", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct RetentionSystemTests {
    @Test("a collector asks for a confirmation, lets samples leave, keeps those on hold, and its store is compacted")
    func keep() async throws {
        try await withSystem { system in
            let path = system.folder + "/old.db"
            let hour: Int64 = 3_600_000_000
            let start: Int64 = 1_700_000_000_000_000 / hour * hour
            var block = SampleBlock(stream: .accelerometer)
            for index in 0..<20_000 as Range<Int64> {
                block.append(time: Timestamp(microseconds: start + index * hour / 1000), values: [1, 2, 3])
            }
            let device = DeviceAddress(group: .standard, device: DeviceID(unchecked: "walker"))
            try {
                let store = try SQLiteStore(path: path)
                let position = BatchPosition(epoch: Epoch(unchecked: "e"), seq: 1)
                try store.write(
                    IngestGroup(batches: [
                        ReceivedBatch(
                            device: device, batch: Batch(position: position, samples: block),
                            receivedAt: Timestamp(microseconds: start))
                    ]))
                store.close()
            }()
            func lockstep(_ arguments: String...) async throws -> String {
                let run = try await RunningProgram.run(
                    Programs.built("lockstep"), arguments, environment: ["LOCKSTEP_STORE": "sqlite:\(path)"])
                #expect(run.status == 0, "\(arguments): \(run.text)")
                return run.text
            }
            func collector(_ arguments: String...) throws -> RunningProgram {
                try system.start(
                    "lockstep-collector",
                    ["--broker", system.broker.url, "--store", "sqlite:\(path)", "--keep", "motion/*=2h"] + arguments)
            }
            let held = try await lockstep(
                "hold", "walker", "--from", "\(start)", "--to", "\(start + hour)", "--reason", "a fall")
            #expect(held.hasPrefix("hold 1: all streams of default/walker"))
            _ = try await lockstep("compact")
            let careful = try collector()
            await expectEventually("\(careful.text)") {
                careful.text.contains("more than half of a stream would expire at once")
            }
            #expect(try await lockstep("devices", "--size").contains("20000"))
            await careful.stop()
            let confirmed = try collector("--confirm-retention", "--keep-summaries", "motion/*=forever")
            let reader = try SQLiteDatabase(path: path, mode: .readOnly)
            await expectEventually("\(confirmed.text)") {
                (try? reader.integer("SELECT count(*) FROM accelerometer")) ?? 0 < 4000
            }
            // An hour on hold, and two to two and a sixteenth.
            let count = try reader.integer("SELECT count(*) FROM accelerometer")
            #expect(count >= 3000 && count < 3200)
            #expect(try reader.integer("SELECT count(*) FROM accelerometer WHERE t < \(start + hour)") == 1000)
            let verified = try await lockstep("verify")
            #expect(verified.contains("motion/accelerometer: \(20_000 - count) samples before"))
            #expect(verified.contains("complete: 20000 samples of 1 device, \(20_000 - count) of them expired"))
            let averages = try await lockstep("query", "accelerometer", "--device", "walker", "--every", "1h", "--csv")
            let numbers = averages.split(separator: "\n").dropFirst()
                .compactMap { $0.split(separator: ",").dropLast().last }
            #expect(numbers.compactMap { Int($0) } == Array(repeating: 1000, count: 20), "\(averages)")
            #expect(try await lockstep("compact").contains(", 0.0 MB free"))
            #expect(try await lockstep("hold", "--list").contains("a fall"))
            await confirmed.stop()
            let refused = try await RunningProgram.run(
                Programs.built("lockstep-collector"),
                [
                    "--broker", system.broker.url, "--store", "clickhouse://localhost/lockstep", "--keep-summaries",
                    "steps=365d",
                ])
            #expect(refused.status != 0 && refused.text.contains("--keep-summaries is only for SQLite stores"))
        }
    }
}
