import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep archive")
struct ArchiveCommandTests {
    /// Creates a store with samples of three months, the last of which has not ended before the limit.
    private func withOldStore(_ body: (_ store: String, _ folder: String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let store = folder + "/store.db"
            var block = SampleBlock(stream: .location)
            for (index, time) in [
                "2025-11-30T23:59:59Z", "2025-12-01T00:00:00Z", "2025-12-31T12:00:00Z", "2026-01-02T00:00:00Z",
            ]
            .enumerated() {
                let values = SensorStream.location.columns.indices.map {
                    $0 == 2 ? .nan : Double(index) + 0.1 / Double($0 + 1)
                }
                block.append(
                    time: try #require(Timestamp(time)),
                    values: zip(SensorStream.location.columns, values).map { $0.kind == .integer ? 3 : $1 })
            }
            try write(IngestGroup(batches: [received(block, "left", nil)]), to: store)
            try await body(store, folder + "/archive")
        }
    }

    private let limit = ["--before", "2026-01-05T00:00:00Z", "--to"]

    @Test("months that have ended are written, listed and read back; a query reads store and archive as one")
    func archive() async throws {
        try await withOldStore { store, folder in
            let all = try await lockstep(["query", "location", "--csv"], store).text
            #expect(all.split(separator: "\n").count == 5)
            let first = try await lockstep(["archive"] + limit + [folder], store)
            #expect(
                first.status == 0 && first.text.contains("2 files written with 3 samples, 0 unchanged"), "\(first.text)"
            )
            #expect(first.text.contains("everything before 2026-01-01"), "\(first.text)")
            #expect(first.text.contains("Not taken: samples from then to 2026-01-05T00:00:00Z"), "\(first.text)")
            let manifest = try String(contentsOfFile: folder + "/manifest.csv", encoding: .utf8)
            let lines = manifest.split(separator: "\n").map(String.init)
            #expect(
                lines.count == 3
                    && lines[0].hasPrefix("file,group,device,stream,from,to,samples,first,last,bytes,sha256"))
            #expect(
                lines[1].hasPrefix(
                    "default/left/location/2025-11.csv.gz,default,left,location,1761955200000000,1764547200000000,1,"))
            let file = folder + "/default/left/location/2025-12.csv.gz"
            let text = try await RunningProgram.run("/bin/sh", ["-c", "zcat '\(file)'; sha256sum '\(file)'"]).text
            #expect(
                text.hasPrefix(all.split(separator: "\n")[0])
                    && text.contains("2025-12-31T12:00:00"))
            #expect(text.contains(try #require(lines[2].split(separator: ",").last)))
            #expect(try await lockstep(["query", "location", "--csv", "--archive", folder], store).text == all)

            let again = try await lockstep(["archive"] + limit + [folder], store)
            #expect(again.text.contains("0 files written with 0 samples, 2 unchanged"), "\(again.text)")
            let deleted = try await lockstep(["archive", "--delete"] + limit + [folder], store)
            #expect(deleted.status == 0 && deleted.text.contains("3 samples deleted from the store"), "\(deleted.text)")
            #expect(try await lockstep(["query", "location", "--csv"], store).text.split(separator: "\n").count == 2)
            #expect(try await lockstep(["query", "location", "--csv", "--archive", folder], store).text == all)
            let part = try await lockstep(
                [
                    "query", "location", "--csv", "--archive", folder, "--from", "2025-12-01T00:00:00Z", "--to",
                    "2026-01-01T00:00:00Z",
                ],
                store)
            #expect(part.text.split(separator: "\n").count == 3, "\(part.text)")
            let verify = try await lockstep(["verify"], store)
            #expect(verify.status == 0 && verify.text.contains("complete: 1 sample"), "\(verify.text)")
        }
    }

    @Test("a damaged file is reported, and a file with more samples than the store is kept")
    func damage() async throws {
        try await withOldStore { store, folder in
            _ = try await lockstep(["archive"] + limit + [folder], store)
            let gone = try await lockstep(
                [
                    "delete", "--yes", "--device", "left", "--from", "2025-12-31T00:00:00Z", "--to",
                    "2026-01-01T00:00:00Z",
                ], store)
            #expect(gone.status == 0, "\(gone.text)")
            let kept = try await lockstep(["archive"] + limit + [folder], store)
            #expect(kept.text.contains("has 2 samples, and the store only 1: the file is kept"), "\(kept.text)")
            let file = folder + "/default/left/location/2025-12.csv.gz"
            var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
            bytes[bytes.count - 1] ^= 1
            try bytes.write(to: URL(fileURLWithPath: file))
            let query = try await lockstep(["query", "location", "--csv", "--archive", folder], store)
            #expect(query.status != 0 && query.text.contains("2025-12.csv.gz is damaged"), "\(query.text)")
            let none = try await lockstep(["query", "location", "--archive", folder + "/none"], store)
            #expect(none.status != 0 && none.text.contains("there is no archive in"), "\(none.text)")
        }
    }
}
