import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep refine track")
struct RefineTrackTests {
    private static let start: Int64 = 1_700_000_000_000_000
    /// Degrees of latitude of a metre.
    private static let metre = 1 / 111_200.0

    /// Writes a device that walks north by 1 m/s for 200 s, with a gap from 100 s to 130 s, an outlier at 50 s, and errors of
    /// 3 m that alternate. Its heading is 90° off.
    private func withWalk(steps: Bool, _ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            var fixes = SampleBlock(stream: .location)
            var (rows, headings) = (SampleBlock(stream: .steps), SampleBlock(stream: .heading))
            for second in 0..<200 {
                let time = Timestamp(microseconds: Self.start + Int64(second) * 1_000_000)
                rows.append(
                    time: time + 500_000, values: [Double(time.microseconds - 500_000), 2, 0.9, .nan, .nan, .nan])
                headings.append(time: time, values: [90, .nan, .nan])
                guard !(100..<130).contains(second) else { continue }
                let error = second == 50 ? 500 : second % 2 == 0 ? 3.0 : -3
                fixes.append(
                    time: time,
                    values: [
                        47 + (Double(second) + error) * Self.metre, 8, .nan, 8, .nan, .nan, .nan, 3,
                        Double(time.microseconds),
                    ])
            }
            try write(
                IngestGroup(
                    batches: ([fixes] + (steps ? [rows, headings] : [])).map { received($0, "left", nil) }), to: path)
            try await body(path)
        }
    }

    /// Returns seconds since the start, m north, m east, accuracy, speed, course, fix, rejected and run.
    private func rows(_ store: String) throws -> [[Double]] {
        let database = try SQLiteDatabase(path: store, mode: .readOnly)
        let select = try database.prepare(
            """
            SELECT t, lat, lon, hacc, speed, course, fix, rejected, run_id FROM location_refined
            WHERE device = 'left' ORDER BY t
            """)
        var rows: [[Double]] = []
        while try select.step() {
            var row = (0..<9).map { select.double(at: $0) }
            row[0] = (row[0] - Double(Self.start)) / 1e6
            row[1] = (row[1] - 47) / Self.metre
            row[2] = (row[2] - 8) / Self.metre
            rows.append(row)
        }
        return rows
    }

    @Test("positions are smoothed, outliers are rejected, and steps bridge the gap")
    func result() async throws {
        try await withWalk(steps: true) { store in
            let run = try await lockstep(["refine", "track", "--device", "left"], store)
            #expect(run.status == 0, "\(run.text)")
            #expect(run.text.contains(" positions in 1 part from 2023-11-14T22:13:20"), "\(run.text)")
            #expect(run.text.contains(", 1 rejected, computed in"), "\(run.text)")
            let rows = try rows(store)
            #expect(rows.filter { $0[6] == 1 }.count == 170)
            #expect(rows.filter { $0[7] == 1 }.map { $0[0] } == [50])
            let bridged = rows.filter { $0[6] == 0 }
            #expect(bridged.count >= 28 && bridged.allSatisfy { (99..<131).contains($0[0]) })
            for row in rows where (10..<190).contains(row[0]) {
                #expect(abs(row[1] - row[0]) < 1.5 && abs(row[2]) < 1, "\(row)")
                #expect(abs(row[4] - 1) < 0.5, "\(row)")
            }
            #expect(bridged.allSatisfy { min($0[5], 360 - $0[5]) < 10 })
            let track = try await lockstep(["export", "location_refined", "--format", "gpx"], store)
            #expect(
                track.status == 0 && track.text.split(separator: "<trkpt ").count == rows.count + 1, "\(track.text)")
            let binary = try await lockstep(["export", "location_refined", "--format", "mcap"], store)
            #expect(
                binary.status != 0 && binary.text.contains("csv, ndjson, geojson, gpx or parquet"), "\(binary.text)")
        }
    }

    @Test("a new run replaces the rows in its time range only")
    func replacement() async throws {
        try await withWalk(steps: false) { store in
            let command = ["refine", "track", "--device", "left"]
            #expect(try await lockstep(command, store).status == 0)
            let range = ["--from", "\(Self.start + 20_000_000)", "--to", "\(Self.start + 30_000_000)"]
            let second = try await lockstep(command + range + ["--json", "--acceleration", "0.5"], store)
            #expect(second.text.hasPrefix(#"{"device":"default/left","rows":10,"parts":1,"#), "\(second.text)")
            #expect(second.text.contains(#""rejected":0,"#), "\(second.text)")
            let rows = try rows(store)
            #expect(rows.map { $0[0] } == (0..<200).filter { !(100..<130).contains($0) }.map(Double.init))
            #expect(rows.map { $0[8] } == rows.map { (20..<30).contains($0[0]) ? 2 : 1 })
            let database = try SQLiteDatabase(path: store, mode: .readOnly)
            let parameters = try database.prepare("SELECT parameters FROM refined_runs WHERE run_id = 2")
            #expect(try parameters.step())
            #expect(parameters.text(at: 0)?.contains("\"acceleration\":0.5") == true)
        }
    }

    @Test("missing data and invalid options are reported")
    func missing() async throws {
        try await withWalk(steps: false) { store in
            let cases: [([String], String)] = [
                (["--device", "right"], "no device 'right' in the store"),
                (
                    ["--device", "left", "--from", "now"],
                    "in this time range; stored are those from 2023-11-14T22:13:20"
                ),
                (["--device", "left", "--acceleration", "0"], "--acceleration must be from 0.01 to 100"),
            ]
            for (arguments, text) in cases {
                let run = try await lockstep(["refine", "track"] + arguments, store)
                #expect(run.status != 0 && run.text.contains(text), "\(run.text)")
            }
        }
    }
}
