import Foundation
import LockstepCommandLine
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@testable import lockstep

@Suite("The months of an archive")
struct ArchiveRunTests {
    @Test(
        "before samples are read that will be deleted, the store refuses more of them; conflicts are in files of their own"
    )
    func refusal() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            let begin = try #require(Timestamp("2025-12-01T00:00:00Z")).microseconds
            let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))
            try write(IngestGroup(batches: [received(block([begin, begin + 1], x: [1, 2]), "left", nil)]), to: path)
            try write(IngestGroup(batches: [received(block([begin], x: [7]), "left", nil)]), to: path)
            let end = try #require(ArchiveMonth.end(before: begin + 40 * 86_400_000_000))
            for isDeleting in [false, true] {
                var run = ArchiveRun(
                    ArchiveFiles(folder: folder + "/\(isDeleting)"), try StoreReader(path: path), ArchiveManifest(),
                    end: end, isDeleting: isDeleting)
                var refused: [Range<Int64>] = []
                let archived = try run.archive(.accelerometer, of: left) { times in
                    refused.append(times)
                    // One that arrives until then is in the file.
                    try write(IngestGroup(batches: [received(block([begin + 2], x: [3]), "left", nil)]), to: path)
                }
                #expect(refused == (isDeleting ? [begin..<end] : []))
                #expect(archived?.samples == (isDeleting ? 3 : 2) && archived?.times == begin..<end)
                let entries = run.manifest.entries.values.sorted { $0.file < $1.file }
                #expect(
                    entries.map(\.file) == [
                        "default/left/accelerometer/2025-12.csv.gz",
                        "default/left/conflicts/accelerometer-2025-12.csv.gz",
                    ])
                #expect(entries.map(\.stream) == ["motion/accelerometer", "conflicts"] && entries[1].samples == 1)
                let reader = try ArchiveFileReader(folder: folder + "/\(isDeleting)", entries[1])
                var text: [UInt8] = []
                while try reader.next({ text += $0 }) {}
                let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
                #expect(lines.first == "group,device,stream,t,stored,received,at")
                #expect(
                    lines[1].hasPrefix("default,left,motion/accelerometer,\(begin),\"{\"\"x\"\":1.0,"), "\(lines[1])")
            }
        }
    }

    @Test("a file is never replaced by one with fewer samples, and what is deleted is written before it is refused")
    func fewerSamples() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            let begin = try #require(Timestamp("2025-12-01T00:00:00Z")).microseconds
            let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))
            for time in [begin, begin + 1] {
                try write(IngestGroup(batches: [received(block([time], x: [1]), "left", nil)]), to: path)
            }
            let end = try #require(ArchiveMonth.end(before: begin + 40 * 86_400_000_000))
            var run = ArchiveRun(
                ArchiveFiles(folder: folder + "/archive"), try StoreReader(path: path), ArchiveManifest(), end: end,
                isDeleting: true)
            let file = folder + "/archive/default/left/accelerometer/2025-12.csv.gz"
            var size = 0
            let error = #expect(throws: CommandFailure.self) {
                try run.archive(.accelerometer, of: left) { _ in
                    size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
                    // As by retention, between the count and the read.
                    let database = try SQLiteDatabase(path: path)
                    try database.execute(
                        "DELETE FROM _waiting WHERE first_t > \(begin); DELETE FROM _accelerometer WHERE t > \(begin)")
                }
            }
            #expect(
                size > 0 && error?.description.contains("have left the store") == true, "\(String(describing: error))")
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int == size)
            #expect(run.manifest.entries.values.map(\.samples) == [2])
        }
    }
}
