import Foundation
import LockstepTestSupport
import Testing

/// The page in headless Chromium. `run.py` starts a broker, a collector, agents and the server, and opens the page.
@Suite(
    .serialized,
    .enabled(if: Programs.isInstalled("chromium"), "chromium is not installed"),
    .enabled(if: Programs.pythonHas("websocket"), "the Debian package python3-websocket is not installed"))
struct PageTests {
    @Test("the calculations of the page are right")
    func calculations() async throws {
        let (status, text) = try await run(["--unit"], within: .seconds(120))
        #expect(status == 0 && text.contains("tests of calculations"), "\(text)")
    }

    @Test(
        "the page shows all devices live, reconnects, and is accessible",
        .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
    func page() async throws {
        let folder = URL(fileURLWithPath: Programs.built("lockstep-serve")).deletingLastPathComponent().path
        let (status, text) = try await run(["--programs", folder], within: .seconds(900))
        // The time that a sample takes and the frames a second, for the log of the run.
        print(text)
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("ok ") || $0.hasPrefix("FAILED ") }
        #expect(!lines.isEmpty, "no test ran: \(text)")
        for line in lines where line.hasPrefix("FAILED ") { Issue.record("\(line)") }
        #expect(status == 0, "\(text)")
    }

    @Test(
        "the page for a phone's browser sends each sample once, through a real gateway",
        .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
    func join() async throws {
        let folder = URL(fileURLWithPath: Programs.built("lockstep-gateway")).deletingLastPathComponent().path
        let (status, text) = try await run(["--programs", folder], script: "run_join.py", within: .seconds(600))
        print(text)
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("ok ") || $0.hasPrefix("FAILED ") }
        #expect(!lines.isEmpty, "no test ran: \(text)")
        for line in lines where line.hasPrefix("FAILED ") { Issue.record("\(line)") }
        #expect(status == 0, "\(text)")
    }

    private func run(
        _ arguments: [String], script: String = "run.py", within limit: Duration
    ) async throws -> (status: Int32, text: String) {
        let python = try #require(Programs.installed("python3"))
        return try await RunningProgram.run(
            python, [Programs.source("Tests/PageTests/\(script)")] + arguments, within: limit)
    }
}
