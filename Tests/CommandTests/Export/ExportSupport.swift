import Foundation
import LockstepTestSupport

/// Reads an exported file with independent programs, see `read_exports.py`.
func readExport(_ arguments: [String], in folder: String) async throws -> (status: Int32, text: String) {
    try await RunningProgram.run(
        "/usr/bin/env",
        [
            "--chdir", folder, Programs.referencePython ?? "python3",
            Programs.source("Tests/CommandTests/Export/read_exports.py"),
        ] + arguments, within: .seconds(120))
}

/// The names of the files in the folder of a store, except for those of the store.
func exportedFiles(beside store: String) throws -> [String] {
    let folder = URL(fileURLWithPath: store).deletingLastPathComponent().path
    return try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix("store.db") }.sorted()
}

/// Adds `count` accelerometer samples, 10 ms apart from the start of 2020, to a device of a store.
func addSamples(_ count: Int, of device: String, to store: String) async throws {
    let run = try await RunningProgram.run(
        Programs.installed("sqlite3") ?? "sqlite3",
        [
            store,
            """
            PRAGMA synchronous = off;
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(count - 1))
            INSERT INTO _accelerometer (device_id, t, x, y, z)
            SELECT (SELECT device_id FROM _devices WHERE device = '\(device)'), 1577836800000000 + i * 10000,
                i % 1000 / 1000.0, i % 7, -1 FROM n;
            """,
        ], within: .seconds(300))
    guard run.status == 0 else { throw ProgramError(run.text) }
}
