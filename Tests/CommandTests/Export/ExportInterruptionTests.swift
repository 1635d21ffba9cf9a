import Foundation
import LockstepTestSupport
import Testing

@Suite("Interrupted exports")
struct ExportInterruptionTests {
    @Test("a signal at a random moment leaves either the complete file or none", arguments: [SIGINT, SIGTERM, SIGHUP])
    func signals(signal: Int32) async throws {
        try await withStore { store in
            try await addSamples(150_000, of: "left", to: store)
            let folder = URL(fileURLWithPath: store).deletingLastPathComponent().path
            var interrupted = 0
            for format in ["csv", "mcap", "csv"] {
                let path = folder + "/out.\(format)"
                let export = try RunningProgram(
                    Programs.built("lockstep"), ["export", "accelerometer", "--out", path],
                    environment: ["LOCKSTEP_STORE": "sqlite:\(store)"])
                let size = Int.random(in: 1...6_000_000)
                await expectEventually("\(export.text)") {
                    !export.isRunning || partialSize(in: folder) >= size
                }
                export.signal(signal)
                let status = await export.waitForExit()
                if status == 0 {
                    #expect(try exportedFiles(beside: store) == ["out.\(format)"])
                    try FileManager.default.removeItem(atPath: path)
                } else {
                    interrupted += 1
                    #expect(status == 128 + signal, "\(export.text)")
                    #expect(export.text == "Error: interrupted: no file was written\n")
                    #expect(try exportedFiles(beside: store) == [])
                }
            }
            #expect(interrupted > 0)
        }
    }
}

/// The size of the temporary file of an export, or 0 if there is none.
private func partialSize(in folder: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    guard let name = names.first(where: { $0.hasSuffix(".part") }) else { return 0 }
    return (try? FileManager.default.attributesOfItem(atPath: folder + "/" + name)[.size] as? Int) ?? 0
}

@Suite("Memory of exports")
struct ExportMemoryTests {
    @Test("an export of a million samples needs little memory", .timeLimit(.minutes(15)))
    func memory() async throws {
        // The program needs about 25 MB for a few samples, so 16 bytes for each sample would be too many.
        try await withStore { store in
            try await addSamples(1_000_000, of: "left", to: store)
            let export = try RunningProgram(
                "/bin/bash",
                ["-c", "exec '\(Programs.built("lockstep"))' export accelerometer --format ndjson > '\(store).out'"],
                environment: ["LOCKSTEP_STORE": "sqlite:\(store)"])
            var peak = 0
            await expectEventually(within: .seconds(600)) {
                peak = max(peak, peakMemory(of: export.pid))
                return !export.isRunning
            }
            #expect(await export.waitForExit() == 0, "\(export.text)")
            let size = try FileManager.default.attributesOfItem(atPath: store + ".out")[.size] as? Int
            #expect(size ?? 0 > 100_000_000)
            #expect((1...40_000).contains(peak), "\(peak) KB")
        }
    }

    /// The peak of the resident memory of a process in KB, or 0 if it has ended.
    private func peakMemory(of process: Int32) -> Int {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return 0 }
        return Int(line.filter(\.isNumber)) ?? 0
    }
}
