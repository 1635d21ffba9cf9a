import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Refined data in ClickHouse", .enabled(if: TestClickHouse.isInstalled, "clickhouse-server is not installed"))
struct ClickHouseRefineTests {
    private static let start: Int64 = 1_700_000_000_000_000

    @Test("refined rows are those of an SQLite store, also after a second run replaces a part")
    func equal() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            try write(Self.walk(), to: path)
            try await withClickHouse { server in
                try server.write(Self.walk())
                let runs = [
                    ["refine", "steps"], ["refine", "track"],
                    [
                        "refine", "steps", "--step-length", "0.6", "--from", "2023-11-14T22:14:00Z", "--to",
                        "2023-11-14T22:15:00Z",
                    ],
                    ["analyze", "walk"],
                ]
                for run in runs {
                    let expected = try await Self.run(run, "sqlite:\(path)")
                    let found = try await Self.run(run, server.url())
                    #expect(expected.status == 0 && found.status == 0, "\(run): \(expected.text) \(found.text)")
                    func counts(_ text: String) -> String? { text.components(separatedBy: " in 0").first }
                    #expect(
                        counts(found.text)?.prefix(40) == counts(expected.text)?.prefix(40),
                        "\(found.text) \(expected.text)")
                }
                let steps = "SELECT t, start, walk, round(distance * 1000) FROM steps_refined ORDER BY t"
                let expected = try Self.rows(path, steps, columns: 4)
                #expect(expected.count > 200)
                let find = steps.replacing("round(distance * 1000)", with: "toInt64(round(distance * 1000))")
                #expect(try await server.execute(find) == expected)
                let runs2 = try await server.execute("SELECT uniqExact(run_id), any(method) FROM steps_refined")
                #expect(runs2.first?.hasPrefix("2\t") == true)
                let track = "SELECT t, round(lat * 1000000), fix FROM location_refined ORDER BY t"
                let positions = track.replacing("round(lat * 1000000)", with: "toInt64(round(lat * 1000000))")
                #expect(try await server.execute(positions) == Self.rows(path, track, columns: 3))
                // A run that was interrupted is not shown, and one that replaces all of the others removes their rows.
                try await server.execute(
                    "INSERT INTO steps_refined_rows (device_id, run_id, t) SELECT device_id, 7, t FROM steps")
                let count = "SELECT count() FROM steps_refined"
                #expect(try await server.execute(count) == ["\(expected.count)"])
                _ = try await Self.run(["refine", "steps"], server.url())
                try await expectEventually {
                    try await server.execute("SELECT uniqExact(run_id) FROM steps_refined_rows") == ["1"]
                }
                let unknown = try await Self.run(["refine", "steps"], server.url(), device: "nobody")
                #expect(unknown.status != 0)
            }
        }
    }

    /// Three minutes with a walk in each, and fixes.
    private static func walk() -> IngestGroup {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<9000 {
            let local = index % 3000
            let value = (500..<2500).contains(local) ? 0.3 * (1 - cos(2 * .pi * Double(local % 25) / 25)) : 0
            block.append(time: Timestamp(microseconds: start + Int64(index) * 20_000), values: [0, 0, -1 - value])
        }
        var fixes = SampleBlock(stream: .location)
        for second in 0..<180 {
            fixes.append(
                time: Timestamp(microseconds: start + Int64(second) * 1_000_000),
                values: [47 + Double(second) * 0.00001, 8, .nan, 5, .nan, .nan, .nan, 3, .nan])
        }
        return IngestGroup(batches: [block, fixes].map { received($0, "left", nil) })
    }

    private static func rows(_ path: String, _ select: String, columns: Int) throws -> [String] {
        let statement = try SQLiteDatabase(path: path, mode: .readOnly).prepare(select)
        var rows: [String] = []
        while try statement.step() {
            rows.append((0..<columns).map { "\(Int64(statement.double(at: $0)))" }.joined(separator: "\t"))
        }
        return rows
    }

    private static func run(
        _ arguments: [String], _ store: String, device: String = "left"
    ) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"), arguments + ["--device", device, "--store", store], within: .seconds(120))
    }
}
