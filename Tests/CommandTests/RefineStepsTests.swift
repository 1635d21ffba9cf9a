import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep refine steps")
struct RefineStepsTests {
    private static let start: Int64 = 1_700_000_000_000_000

    /// Returns samples at 50 Hz: in each cycle of 60 s, 10 s of rest, 80 steps of 0.5 s, and 10 s of rest.
    private func walks(_ count: Int) -> SampleBlock {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<count * 3000 {
            let local = index % 3000
            let value = (500..<2500).contains(local) ? 0.3 * (1 - cos(2 * .pi * Double(local % 25) / 25)) : 0
            block.append(
                time: Timestamp(microseconds: Self.start + Int64(index) * 20_000), values: [0, 0, -1 - value])
        }
        return block
    }

    private func withWalks(_ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            var fixes = SampleBlock(stream: .location)
            for second in 0..<180 {
                fixes.append(
                    time: Timestamp(microseconds: Self.start + Int64(second) * 1_000_000),
                    values: [47, 8, .nan, 5, .nan, .nan, .nan, 3, .nan])
            }
            try write(IngestGroup(batches: [walks(3), fixes].map { received($0, "left", nil) }), to: path)
            try await body(path)
        }
    }

    private func rows(_ store: String) throws -> [[Double]] {
        let database = try SQLiteDatabase(path: store, mode: .readOnly)
        let select = try database.prepare(
            "SELECT t, start, walk, distance, cadence, run_id FROM steps_refined WHERE device = 'left' ORDER BY t")
        var rows: [[Double]] = []
        while try select.step() { rows.append((0..<6).map { select.double(at: $0) }) }
        return rows
    }

    @Test("each step has a row with its time and length")
    func result() async throws {
        try await withWalks { store in
            let run = try await lockstep(["refine", "steps", "--device", "left", "--step-length", "0.7"], store)
            #expect(run.status == 0, "\(run.text)")
            #expect(run.text.contains(" steps in 3 walks from 2023-11-14T22:13:20"), "\(run.text)")
            let rows = try rows(store)
            #expect(
                run.text.hasPrefix("default/left: \(rows.count) steps") && abs(rows.count - 240) <= 6, "\(run.text)")
            #expect(Set(rows.map { $0[2] }).count == 3)
            for (before, row) in zip(rows, rows.dropFirst()) where row[2] != row[0] { #expect(row[1] == before[0]) }
            // At the ends of a walk, the filtered signal is not regular.
            for row in rows.filter({
                13..<47 ~= ($0[0] - Double(Self.start)).truncatingRemainder(dividingBy: 60e6) / 1e6
            }) {
                #expect(abs(row[0] - row[1] - 500_000) < 15_000, "\(row)")
                #expect(row[3] == 0.7 && abs(row[4] - 2) < 0.05, "\(row)")
            }
            let query = try await lockstep(["query", "steps_refined", "--device", "left", "--csv"], store)
            let lines = query.text.split(separator: "\n")
            #expect(lines.count == rows.count + 1 && lines[0] == "group,device,t,time,start,walk,distance,cadence")
            #expect(lines[1].hasPrefix("default,left,\(Int64(rows[0][0])),"), "\(lines[1])")
            #expect(lines[1].contains(",0.7,"), "\(lines[1])")
            let export = try await lockstep(["export", "steps_refined", "--device", "left"], store)
            let exported = export.text.replacing("device,stream,t", with: "device,t")
                .replacing("left,steps_refined,", with: "left,")
            #expect(exported == query.text)
            let last = try await lockstep(["query", "steps_refined", "--last", "--csv"], store)
            #expect(last.text.split(separator: "\n").last == lines.last)
            let some = try await lockstep(["query", "steps_refined", "--csv", "--limit", "3"], store)
            #expect(some.text.split(separator: "\n") == Array(lines.prefix(4)))
            // The peak of each step is in the middle of its half second.
            #expect(abs(rows[20][0].truncatingRemainder(dividingBy: 500_000) - 250_000) < 10_000, "\(rows[20])")
        }
    }

    @Test("a new run replaces the rows in its time range only, and leaves other kinds alone")
    func replacement() async throws {
        try await withWalks { store in
            #expect(try await lockstep(["refine", "track", "--device", "left"], store).status == 0)
            let command = ["refine", "steps", "--device", "left"]
            #expect(try await lockstep(command, store).status == 0)
            let first = try rows(store)
            let range = ["--from", "\(Self.start + 60_000_000)", "--to", "\(Self.start + 120_000_000)"]
            let second = try await lockstep(command + range + ["--json"], store)
            let inRange = first.map { 60_000_000..<120_000_000 ~= Int64($0[0]) - Self.start }
            #expect(
                second.text.hasPrefix(
                    #"{"device":"default/left","rows":\#(inRange.count { $0 }),"parts":1,"#), "\(second.text)")
            let rows = try rows(store)
            #expect(rows.map { $0[0] } == first.map { $0[0] })
            #expect(rows.map { $0[5] } == inRange.map { $0 ? 3 : 2 })
            // Times without steps are replaced as well.
            let rest = try await lockstep(command + ["--to", "\(Self.start + 10_000_000)"], store)
            #expect(rest.text.hasPrefix("default/left: 0 steps in 0 walks"), "\(rest.text)")
            #expect(try await lockstep(command, store).status == 0)
            let database = try SQLiteDatabase(path: store, mode: .readOnly)
            #expect(try database.integer("SELECT count(*) FROM _steps_refined") == Int64(first.count))
            #expect(try database.integer("SELECT count(*) FROM location_refined") == 180)
            #expect(try database.integer("SELECT count(*) FROM refined_runs WHERE kind = 'steps'") == 1)
        }
    }

    @Test("missing data and invalid options are reported")
    func missing() async throws {
        try await withWalks { store in
            let cases: [([String], String)] = [
                (["--device", "right"], "no device 'right' in the store"),
                (
                    ["--device", "left", "--from", "now"],
                    "in this time range; stored are those from 2023-11-14T22:13:20"
                ),
                (["--device", "left", "--height", "175"], "use a height in metres from 0.3 to 3, such as 1.75"),
                (["--device", "left", "--from", "5", "--to", "4"], "is not before --to"),
            ]
            for (arguments, text) in cases {
                let run = try await lockstep(["refine", "steps"] + arguments, store)
                #expect(run.status != 0 && run.text.contains(text), "\(run.text)")
            }
        }
    }
}
