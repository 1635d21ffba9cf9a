import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Refined data in ClickHouse", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
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
                    ["refine", "attitude"], ["refine", "steps"], ["refine", "track"],
                    [
                        "refine", "steps", "--step-length", "0.6", "--from", "2023-11-14T22:14:00Z", "--to",
                        "2023-11-14T22:15:00Z",
                    ],
                    ["analyze", "walk"],
                ]
                for run in runs {
                    let expected = try await Self.run(run + ["--json"], "sqlite:\(path)")
                    let found = try await Self.run(run + ["--json"], server.url())
                    #expect(expected.status == 0 && found.status == 0, "\(run): \(expected.text) \(found.text)")
                    #expect(try Self.results(found.text) == Self.results(expected.text), "\(run)")
                }
                let align = ["align", "left", "right", "--stream", "gyroscope", "--json", "--store"]
                let aligned = try await Self.lockstep(align + ["sqlite:\(path)"])
                let found = try await Self.lockstep(align + [server.url()])
                #expect(aligned.status == 0 && found.text == aligned.text, "\(found.text) \(aligned.text)")
                #expect(found.text.contains("\"offset_us\":-"), "\(found.text)")
                // Not in thousandths, of which some distances have a half: ClickHouse 26 rounds that to an even number.
                let steps = "SELECT t, start, walk, round(distance * 1000000) FROM steps_refined ORDER BY t"
                let expected = try Self.rows(path, steps, columns: 4)
                #expect(expected.count > 200)
                let find = steps.replacing(
                    "round(distance * 1000000)", with: "toInt64(round(distance * 1000000))")
                #expect(try await server.execute(find) == expected)
                let runs2 = try await server.execute("SELECT uniqExact(run_id), any(method) FROM steps_refined")
                #expect(runs2.first?.hasPrefix("2\t") == true)
                let attitude =
                    "SELECT t, round(qw * 1000000), round(bz * 1000000), rest FROM attitude_refined ORDER BY t"
                let attitudes = try Self.rows(path, attitude, columns: 4)
                #expect(attitudes.count == 9000)
                let findAttitudes = attitude.replacing(
                    "round(qw * 1000000), round(bz * 1000000)",
                    with: "toInt64(round(qw * 1000000)), toInt64(round(bz * 1000000))")
                #expect(try await server.execute(findAttitudes) == attitudes)
                let track = "SELECT t, round(lat * 1000000), fix FROM location_refined ORDER BY t"
                let positions = track.replacing("round(lat * 1000000)", with: "toInt64(round(lat * 1000000))")
                #expect(try await server.execute(positions) == Self.rows(path, track, columns: 3))
                for command in ["query", "export"] {
                    let expected = try await Self.run([command, "steps_refined"], "sqlite:\(path)")
                    let found = try await Self.run([command, "steps_refined"], server.url())
                    #expect(found.status == 0 && found.text == expected.text, "\(found.text.prefix(500))")
                }
                let newest = try await Self.run(["query", "location_refined", "--last", "--csv"], server.url())
                #expect(newest.text.contains(",1700000179000000,"), "\(newest.text)")
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
                #expect(unknown.status == 1 && unknown.text.contains("no device 'nobody'"), "\(unknown.text)")
            }
        }
    }

    @Test("rejected messages and conflicts are those of an SQLite store")
    func faults() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            for group in FaultQueryTests.faults() { try write(group, to: path) }
            try await withClickHouse { server in
                for group in FaultQueryTests.faults() { try server.write(group) }
                for arguments in [["rejected"], ["conflicts"], ["rejected", "--from", "1700000000000001"]] {
                    let query = ["query"] + arguments + ["--json", "--store"]
                    let expected = try await Self.lockstep(query + ["sqlite:\(path)"])
                    let found = try await Self.lockstep(query + [server.url()])
                    #expect(!expected.text.isEmpty && found.text == expected.text, "\(found.text)\n\(expected.text)")
                }
            }
        }
    }

    /// Three minutes with a walk in each, a turn, and fixes. The clock of a second device is 0.5 s ahead.
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
        var turn = SampleBlock(stream: .gyroscope)
        var right = SampleBlock(stream: .gyroscope)
        for index in block.times.indices {
            let time = Double(index) / 50
            // Irregular, so that the offset is not ambiguous.
            let rate = [1.1, 1.73, 2.39, 3.17].reduce(1) { $0 + 0.2 * sin($1 * time * (1 + 0.003 * time)) }
            turn.append(time: Timestamp(microseconds: block.times[index]), values: [0.01, 0, rate])
            right.append(time: Timestamp(microseconds: block.times[index] + 500_000), values: [0.01, 0, rate])
        }
        return IngestGroup(
            batches: [block, fixes, turn].map { received($0, "left", nil) } + [received(right, "right", nil)])
    }

    private static func rows(_ path: String, _ select: String, columns: Int) throws -> [String] {
        let statement = try SQLiteDatabase(path: path, mode: .readOnly).prepare(select)
        var rows: [String] = []
        while try statement.step() {
            rows.append((0..<columns).map { "\(Int64(statement.double(at: $0)))" }.joined(separator: "\t"))
        }
        return rows
    }

    /// Returns the members of an object, without the speed of the run.
    private static func results(_ json: String) throws -> [String: String] {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        return object.filter { !["seconds", "speed"].contains($0.key) }.mapValues { "\($0)" }
    }

    private static func lockstep(_ arguments: [String]) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(Programs.built("lockstep"), arguments, within: .seconds(120))
    }

    private static func run(
        _ arguments: [String], _ store: String, device: String = "left"
    ) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"), arguments + ["--device", device, "--store", store], within: .seconds(120))
    }
}
