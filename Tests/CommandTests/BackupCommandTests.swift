import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep backup")
struct BackupCommandTests {
    @Test("the copy is reported as text and as JSON, and has no extra files")
    func reports() async throws {
        try await withStore { store in
            let copy = store + "-copy"
            let text = try await lockstep(["backup", copy], store)
            #expect(text.status == 0, "\(text.text)")
            #expect(
                text.text.wholeMatch(of: /.*-copy: 4 samples of 2 devices, 0\.\d MB, checked\n/) != nil, "\(text.text)")
            let again = try await lockstep(["backup", copy], store)
            #expect(again.status == 1 && again.text.contains("exists: choose another file, or replace it with --force"))
            let json = try await lockstep(["backup", copy, "--force", "--json"], store)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any])
            #expect(object["devices"] as? Int == 2 && object["samples"] as? Int == 4, "\(json.text)")
            let folder = (store as NSString).deletingLastPathComponent
            let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains("copy") }
            #expect(files == ["store.db-copy"])
            let verified = try await lockstep(["verify"], copy)
            #expect(try await verified.text == lockstep(["verify"], store).text)
        }
    }

    @Test("a store that does not exist, and one on a server, are refused with advice")
    func refused() async throws {
        try await withTemporaryFolder { folder in
            let missing = try await lockstep(["backup", folder + "/copy"], folder + "/none.db")
            #expect(missing.status == 1 && missing.text.contains("there is no store at"), "\(missing.text)")
            let server = try await RunningProgram.run(
                Programs.built("lockstep"), ["backup", "--store", "clickhouse://localhost/samples", folder + "/copy"])
            #expect(server.status == 1 && server.text.contains("only an SQLite store"), "\(server.text)")
        }
    }

    @Test("a full disk is reported, and nothing is left on it")
    func fullDisk() async throws {
        guard await SmallDisk.isAvailable() else { return }
        try await withStore { store in
            var samples = SampleBlock(stream: .accelerometer)
            for index in 0..<100_000 as Range<Int64> {
                samples.append(
                    time: Timestamp(microseconds: 1_600_000_000_000_000 + index), values: [Double(index) / 7, 0.1, 0.2])
            }
            try write(IngestGroup(batches: [received(samples, "left", nil)]), to: store)
            let folder = (store as NSString).deletingLastPathComponent + "/small"
            try await SmallDisk.with(at: folder, kilobytes: 1024) {
                let run = try await lockstep(["backup", folder + "/copy"], store)
                #expect(run.status == 1 && run.text.contains("no space left on the disk of"), "\(run.text)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            }
        }
    }

    @Test(
        "a damaged store is salvaged with the sqlite3 shell as its error advises",
        .enabled(if: Programs.isInstalled("sqlite3"), "sqlite3 is not installed"))
    func salvage() async throws {
        try await withStore { store in
            var samples = SampleBlock(stream: .accelerometer)
            for index in 0..<50_000 as Range<Int64> {
                samples.append(
                    time: Timestamp(microseconds: 1_600_000_000_000_000 + index * 1000), values: [0.5, 0.1, 0.2])
            }
            try write(IngestGroup(batches: [received(samples, "left", nil)]), to: store)
            // In the middle of the rows of samples.
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: store))
            let size = try file.seekToEnd()
            try file.seek(toOffset: size / 4 * 3)
            try file.write(contentsOf: Data(repeating: 0xff, count: 8192))
            try file.close()
            let damaged = try await lockstep(["verify", "--file"], store)
            #expect(damaged.status == 1 && damaged.text.contains("damaged"), "\(damaged.text)")

            let page = try String(contentsOfFile: Programs.source("docs/store.md"), encoding: .utf8)
            let section = try #require(page.components(separatedBy: "## Damaged store").last)
            let script = try #require(section.components(separatedBy: "```sh\n").dropFirst().first)
                .components(separatedBy: "```")[0]
            let folder = (store as NSString).deletingLastPathComponent
            let commands =
                "cd '\(folder)'\nlockstep() { '\(Programs.built("lockstep"))' \"$@\"; }\n"
                + script.replacingOccurrences(of: "samples.db", with: "store.db")
            let run = try await RunningProgram.run("/bin/bash", ["-c", commands])
            let salvaged = try StoreReader(path: folder + "/salvaged.db")
            #expect(try salvaged.integrityCheck().isEmpty, "\(run.text)")
            let count = try salvaged.verification().flatMap(\.samples).reduce(0) { $0 + $1.count }
            #expect((25_000..<50_010).contains(count), "\(count) \(run.text)")
            // A collector can use it.
            try write(
                IngestGroup(batches: [received(block([1_700_000_001_000_000], x: [1]), "left", nil)]),
                to: folder + "/salvaged.db")
        }
    }
}
