import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "Exports of recordings, read by other programs",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"),
    .enabled(if: recordingsFolder != nil, "the recordings are missing"),
    .enabled(if: Programs.referencePython != nil, "Python with the reference packages is missing: run deploy/check"))
struct ExportReadingTests {
    @Test("every format is read by an independent reader, and every recipe of docs/exports.md works")
    func formats() async throws {
        try await withSystem { system in
            try await prepare(system)
            for name in [
                "track.gpx", "track.geojson", "track.mcap", "track.csv", "track.ndjson", "track.senml", "track.senmlc",
            ] {
                try await export("track", name, system)
            }
            for name in ["motion.mcap", "motion.csv", "motion.ndjson", "motion.senml", "motion.senmlc"] {
                try await export("motion", name, system)
            }
            try await export("steps", "steps.csv", system)
            try await export("track", "track.parquet", system)
            try await export("gyroscope", "turns.parquet", system)
            try await export("gyroscope", "turns.ndjson", system)
            for name in ["walk", "walk.mcap", "walk.xdf"] { try await export("session", name, system) }
            let checks = [
                (["gpx", "track.gpx"], " tracks, "), (["geojson", "track.geojson"], " positions"),
                (["mcap", "track.mcap"], "/default/walker/location/fix foxglove.LocationFix "),
                (["mcap", "motion.mcap"], "/default/turner/motion/device/pose foxglove.PoseInFrame "),
                (["mcap", "walk.mcap"], "'label/subject': '7'"), (["mcap", "walk.mcap"], "device walker {"),
                (["mcap", "walk.mcap"], "/markers lockstep.marker 1"), (["xdf", "walk.xdf", "walk"], " samples"),
                (["senml", "track.senml", "track.ndjson"], " records"),
                (["senml", "track.senmlc", "track.ndjson"], " records"),
                (["senml", "motion.senml", "motion.ndjson"], " records"),
                (["senml", "motion.senmlc", "motion.ndjson"], " records"),
                (["parquet", "track.parquet", "track.ndjson"], " rows, 12 columns"),
                (["parquet", "turns.parquet", "turns.ndjson"], " rows, 6 columns"), (["csv", "track.csv"], " rows"),
                (["csv", "steps.csv"], " rows"),
                (
                    ["recipes", Programs.source("docs/exports.md")],
                    "python steps.csv, sql duckdb, sql grafana, sql grafana"
                ),
            ]
            for (arguments, answer) in checks {
                let run = try await readExport(arguments, in: system.folder)
                #expect(run.status == 0 && run.text.contains(answer), "\(arguments): \(run.text)")
            }
            let motion = try await readExport(["csv", "motion.csv"], in: system.folder)
            #expect(motion.status == 0 && motion.text.contains("31 columns"), "\(motion.text)")
            let damaged = try await damage("track.gpx", system, "<ele>", "<altitude>", "</ele>", "</altitude>")
            #expect(damaged.status == 1, "an invalid file passes the schema")
        }
    }

    /// Creates the store `samples.db` with a simulated walk and a recording.
    private func prepare(_ system: TestSystem) async throws {
        let collector = try system.startCollector()
        try await system.waitForSubscription()
        let recording = try #require(recordingsFolder) + "/orientation/28_disturbed_stationary_magnet_A.csv"
        let turner = try system.startAgent("turner", source: "replay:\(recording)", ["--speed", "max"])
        let walker = try system.startAgent("walker", source: "simulate:1")
        func record(_ arguments: [String]) async throws {
            let run = try await RunningProgram.run(
                Programs.built("lockstep"), ["record"] + arguments + ["--broker", system.broker.url])
            #expect(run.status == 0, "\(run.text)")
        }
        try await expectEventually {
            try await system.reader().devices().contains { $0.address.device.rawValue == "walker" }
        }
        try await record(["start", "walk", "--device", "walker", "--label", "subject=7"])
        try await record(["mark", "turn, left", "--session", "walk", "--value", "2.5"])
        #expect(await turner.waitForExit(within: .seconds(120)) == 0, "\(turner.text)")
        let reader = try await system.reader()
        try await expectEventually(within: .seconds(60)) {
            var count = 0
            try reader.query(stream: .steps) { _ in count += 1 }
            return count >= 5
        }
        try await record(["stop", "walk"])
        await walker.stop()
        await collector.stop()
        // A copy of the file alone would lack the write-ahead log.
        let copy = try await RunningProgram.run(
            Programs.installed("sqlite3") ?? "sqlite3",
            [system.storePath, "VACUUM INTO '\(system.folder)/samples.db'"])
        #expect(copy.status == 0, "\(copy.text)")
    }

    private func export(_ subject: String, _ name: String, _ system: TestSystem) async throws {
        let path = system.folder + "/" + name
        let devices = name == "motion.csv" ? ["--device", "turner"] : subject == "session" ? ["walk"] : []
        let run = try await lockstep(["export", subject, "--out", path] + devices, system.storePath)
        #expect(run.status == 0, "\(run.text)")
    }

    /// Replaces texts of a file, and reads it.
    private func damage(
        _ name: String, _ system: TestSystem, _ texts: String...
    ) async throws -> (status: Int32, text: String) {
        let url = URL(fileURLWithPath: system.folder + "/" + name)
        var text = try String(contentsOf: url, encoding: .utf8)
        for index in stride(from: 0, to: texts.count, by: 2) {
            text = text.replacing(texts[index], with: texts[index + 1])
        }
        try text.write(to: url, atomically: true, encoding: .utf8)
        return try await readExport([String(name.split(separator: ".")[1]), name], in: system.folder)
    }
}
