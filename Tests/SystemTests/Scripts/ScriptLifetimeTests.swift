import Foundation
import FoundationNetworking
import LockstepTestSupport
import Testing

/// The deploy scripts with real brokers, collectors and agents, but without building anything: `swift` is a stub that points
/// to the programs built with the tests, and `lockstep-bench` is a stub that starts a broker and a collector.
@Suite(
    "Lifetime of deploy scripts", .serialized,
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"),
    .enabled(if: recordingsFolder != nil, "the recordings are missing beside this checkout"))
struct ScriptLifetimeTests {
    @Test("all processes of deploy/demo end with it, and its folder is removed", arguments: [SIGINT, SIGKILL])
    func demo(signal: Int32) async throws {
        try await expectCleanEnd(
            of: "demo", ["--devices", "2"], programs: ["mosquitto", "lockstep-agent", "lockstep-collec"], signal)
    }

    @Test("deploy/demo verifies the samples, and then shows a page until Ctrl-C")
    func page() async throws {
        try await withScript("demo", ["--devices", "1", "--seconds", "10"]) { script, run in
            #expect(await script.waitForOutput("demo: verified after", within: .seconds(120)), "\(script.text)")
            #expect(script.text.contains("Every accepted sample is stored exactly once."))
            #expect(await script.waitForOutput("page    http://", within: .seconds(60)), "\(script.text)")
            let address = try #require(script.text.firstMatch(of: /page +(http:\/\/127\.0\.0\.1:\d+\/)\n/)?.1)
            let health = try #require(URL(string: address + "healthz"))
            let (_, response) = try await URLSession.shared.data(from: health)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            script.signal(SIGINT)
            #expect(await script.waitForExit(within: .seconds(120)) == 0, "\(script.text)")
            #expect(script.text.components(separatedBy: "Every accepted sample is stored exactly once.").count == 3)
            #expect(run.processes.isEmpty && run.folders.isEmpty, "\(run.processes) \(run.folders)")
        }
    }

    @Test("all processes of deploy/bench end with it, and its folder is removed")
    func bench() async throws {
        try await expectCleanEnd(of: "bench", ["codec"], programs: ["mosquitto", "lockstep-collec"], SIGTERM)
    }

    private func expectCleanEnd(
        of name: String, _ arguments: [String], programs: Set<String>, _ signal: Int32
    ) async throws {
        try await withScript(name, arguments) { script, run in
            let isStarted = await eventually(within: .seconds(120)) {
                run.names.isSuperset(of: programs) || !script.isRunning
            }
            try #require(isStarted && script.isRunning, "\(script.text)")
            #expect(!run.folders.isEmpty)
            script.signal(signal)
            var status = await script.waitForExit(within: .seconds(20))
            if status == nil, signal == SIGINT {
                // bash may miss a SIGINT that arrives while a child ends. A user presses Ctrl-C again.
                script.signal(signal)
                status = await script.waitForExit(within: .seconds(20))
            }
            #expect(status == (signal == SIGKILL ? SIGKILL : 128 + signal), "\(script.text)")
            await expectEventually("\(run.processes) \(run.folders)", within: .seconds(20)) {
                run.processes.isEmpty && run.folders.isEmpty
            }
        }
    }

    /// Starts a script of `deploy`, and kills its processes when `body` returns or throws.
    private func withScript(
        _ name: String, _ arguments: [String], _ body: (RunningProgram, ScriptRun) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let run = ScriptRun(folder: folder)
            let script = try RunningProgram(
                Programs.source("deploy/" + name), arguments, environment: try run.prepare())
            defer { run.killAll() }
            try await body(script, run)
        }
    }
}

/// The environment of a script under test, and the processes and folders that it creates.
private struct ScriptRun {
    /// Marks all processes that the script starts, in their environment.
    private let mark = "DEPLOY_TEST=\(UUID().uuidString)"
    private let folder: String
    let temporary: String

    init(folder: String) {
        self.folder = folder
        temporary = folder + "/tmp"
    }

    /// Creates the stubs and returns the environment.
    func prepare() throws -> [String: String] {
        let programs = URL(fileURLWithPath: Programs.built("lockstep")).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        try write(
            "bin/swift",
            """
            case "$*" in
                --version) echo 'Swift version 99.0' ;;
                *--show-bin-path*) echo '\(programs)' ;;
            esac
            """)
        // Stripping debug builds would take seconds.
        try write("bin/strip", "exit 0")
        // Otherwise the script would install the reference packages.
        try write("cache/lockstep/reference/bin/python", "exit 0")
        try FileManager.default.createDirectory(
            atPath: folder + "/cache/lockstep/reference/sparkplug/pysparkplug", withIntermediateDirectories: true)
        // mktemp replaces the last letters of the name of the folder.
        try write(
            "scratch-bench/release/lockstep-bench",
            """
            set -e
            [ "$1" != --check ] || exit 0
            folder=$(mktemp -d "$TMPDIR/lockstep-bench-XXXXXX")
            # Relative, because the path of a socket has at most 107 bytes.
            cd "$folder"
            printf 'listener 0 socket\\nallow_anonymous true\\nuser root\\n' >broker.conf
            setsid mosquitto -c broker.conf &
            setsid '\(programs)/lockstep-collector' --broker mqtt://127.0.0.1:1 --store "sqlite:$folder/store.db" &
            wait
            """)
        let parts = mark.split(separator: "=").map(String.init)
        return [
            "PATH": folder + "/bin:" + (ProcessInfo.processInfo.environment["PATH"] ?? ""), parts[0]: parts[1],
            "TMPDIR": temporary, "LOCKSTEP_SCRATCH": folder + "/scratch", "XDG_CACHE_HOME": folder + "/cache",
        ]
    }

    /// The running processes of the script by id, with their names. Without the script itself, which is a child of the test.
    var processes: [Int32: String] {
        var found: [Int32: String] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let id = Int32(name), let environment = FileManager.default.contents(atPath: "/proc/\(id)/environ"),
                environment.range(of: Data(mark.utf8)) != nil, !hasEnded(id)
            else { continue }
            found[id] = contents("/proc/\(id)/comm")?.trimmingCharacters(in: .newlines)
        }
        return found
    }

    var names: Set<String> { Set(processes.values) }

    /// Temporary folders of the script.
    var folders: [String] { (try? FileManager.default.contentsOfDirectory(atPath: temporary)) ?? [] }

    func killAll() { for id in processes.keys { kill(id, SIGKILL) } }

    /// Whether a process has ended, though its parent may not have noticed yet.
    func hasEnded(_ id: Int32) -> Bool { contents("/proc/\(id)/status")?.contains("State:\tZ") ?? true }

    private func contents(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func write(_ name: String, _ script: String) throws {
        let path = folder + "/" + name
        try FileManager.default.createDirectory(
            atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path, withIntermediateDirectories: true)
        try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
}
