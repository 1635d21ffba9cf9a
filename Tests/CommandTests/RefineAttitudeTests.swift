import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@testable import lockstep

@Suite("lockstep refine attitude")
struct RefineAttitudeTests {
    private static let start: Int64 = 1_700_000_000_000_000

    /// Writes samples of a device that lies flat and turns about the vertical by 0.5 rad/s from north, for 60 s at 100 Hz.
    /// The gyroscope has a bias about the horizontal.
    private func withTurningDevice(_ streams: Set<SensorStream>, _ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            var blocks: [SampleBlock] = []
            for stream in streams {
                var block = SampleBlock(stream: stream)
                for index in 0..<6000 {
                    let angle = 0.005 * Double(index)
                    let values: [Double] =
                        switch stream {
                        case .gyroscope: [0.01, 0, 0.5]
                        case .accelerometer: [0, 0, -1]
                        // North is along y at the start.
                        default: [20 * sin(angle), 20 * cos(angle), -40]
                        }
                    block.append(time: Timestamp(microseconds: Self.start + Int64(index) * 10_000), values: values)
                }
                blocks.append(block)
            }
            try write(IngestGroup(batches: blocks.map { received($0, "left", nil) }), to: path)
            try await body(path)
        }
    }

    private func rows(_ store: String, _ condition: String = "1") throws -> [[Double]] {
        let database = try SQLiteDatabase(path: store, mode: .readOnly)
        let select = try database.prepare(
            "SELECT t, qw, qx, qy, qz, bx, by, bz, run_id FROM attitude_refined WHERE \(condition) ORDER BY t")
        var rows: [[Double]] = []
        while try select.step() { rows.append((0..<9).map { select.double(at: $0) }) }
        return rows
    }

    @Test("the progress on a terminal is the share of the time range")
    func progress() {
        let range = Self.start..<Self.start + 200_000_000
        #expect(
            RefineProgress.line(Self.start + 90_000_000, of: range) == " 45 %, computed to 2023-11-14T22:14:50Z")
        #expect(RefineProgress.line(Self.start + 300_000_000, of: range).hasPrefix("100 %"))
        #expect(RefineProgress.line(Self.start - 1, of: range).hasPrefix("  0 %"))
    }

    @Test("attitude and bias are written for each gyroscope sample")
    func result() async throws {
        try await withTurningDevice([.gyroscope, .accelerometer, .magnetometer]) { store in
            let run = try await lockstep(["refine", "attitude", "--device", "left"], store)
            #expect(run.status == 0, "\(run.text)")
            #expect(
                run.text.hasPrefix("default/left: 6000 attitudes in 1 part from 2023-11-14T22:13:20"), "\(run.text)")
            let rows = try rows(store)
            #expect(rows.count == 6000)
            for row in rows {
                let angle = 0.5 * (row[0] - Double(Self.start)) / 1e6
                // The rotation about the vertical, up to the sign of the quaternion.
                let agreement = abs(row[1] * cos(angle / 2) + row[4] * sin(angle / 2))
                #expect(agreement > cos(0.5 * .pi / 180 / 2))
            }
            // After one minute in motion, the initial bias of 0 still has a weight.
            #expect((0.006...0.01).contains(rows[3000][5]) && abs(rows[3000][6]) < 0.0005)
        }
    }

    @Test("a store that is open for writing can be refined, and written afterwards")
    func collector() async throws {
        try await withTurningDevice([.gyroscope, .accelerometer]) { path in
            let store = try SQLiteStore(path: path)
            #expect(try await lockstep(["refine", "attitude", "--device", "left"], path).status == 0)
            _ = try store.write(IngestGroup(batches: [received(block([Self.start], x: [0.5]), "right", nil)]))
            let verification = try await lockstep(["verify"], path)
            #expect(verification.status == 0, "\(verification.text)")
            #expect(try rows(path).count == 6000)
        }
    }

    @Test("missing data is reported with what is stored")
    func missing() async throws {
        try await withTurningDevice([.accelerometer]) { store in
            let cases: [([String], String)] = [
                (["--device", "left"], "no samples of 'motion/gyroscope' are stored for default/left"),
                (["--device", "right"], "no device 'right' in the store"),
                (["--device", "left", "--from", "5", "--to", "4"], "is not before --to"),
                (["--device", "left", "--gyroscope-delay", "2"], "--gyroscope-delay must be from 0 to 1"),
            ]
            for (arguments, text) in cases {
                let run = try await lockstep(["refine", "attitude"] + arguments, store)
                #expect(run.status != 0 && run.text.contains(text), "\(run.text)")
            }
        }
        try await withTurningDevice([.accelerometer, .gyroscope]) { store in
            for range in [["--from", "now"], ["--to", "\(Int64.min)"]] {
                let run = try await lockstep(["refine", "attitude", "--device", "left"] + range, store)
                #expect(
                    run.status != 0
                        && run.text.contains("in this time range; stored are those from 2023-11-14T22:13:20.000000Z"),
                    "\(run.text)")
            }
        }
    }
}
