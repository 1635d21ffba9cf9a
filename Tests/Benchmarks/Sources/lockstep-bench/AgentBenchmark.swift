import Foundation

/// What an agent costs that does all it can: three motion sensors, device motion at 100 Hz, steps, orientation and
/// location, all published to a broker on this machine, with the outbox on disk.
struct AgentBenchmark {
    /// Folder of the built programs.
    let programs: String
    /// s to measure, after 5 s to start.
    let seconds: Int

    struct Result {
        /// Part of a core.
        var cpu: Double
        /// Peak resident memory in bytes: `VmHWM`.
        var memory: Int
        var seconds: Int

        var text: String {
            "agent\n  \((cpu * 10_000).rounded() / 100) % of a core, \((Double(memory) / 1e5).rounded() / 10) MB at its "
                + "peak (VmHWM), over \(seconds) s\n"
        }

        var json: String {
            "{\"benchmark\":\"agent\",\"cpu\":\(cpu),\"memory\":\(memory),\"seconds\":\(seconds)}\n"
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    func run() throws -> Result {
        let folder = FileManager.default.temporaryDirectory.path + "/lockstep-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let port = Int.random(in: 20_000...30_000)
        let settings = "listener \(port) 127.0.0.1\nallow_anonymous true\n"
        try settings.write(toFile: folder + "/broker.conf", atomically: true, encoding: .utf8)
        let broker = try start("/usr/sbin/mosquitto", ["-c", folder + "/broker.conf"])
        defer { stop(broker) }
        let agent = try start(
            programs + "/lockstep-agent",
            [
                "--broker", "mqtt://127.0.0.1:\(port)", "--device", "bench", "--source", "simulate", "--ack", "broker",
                "--rate", "motion/device=100", "--outbox", folder + "/outbox",
            ])
        defer { stop(agent) }
        // Time is what is measured against here: first until it is connected and all streams come, then the span itself.
        Thread.sleep(forTimeInterval: 5)
        let before = try cpuTime(of: agent)
        Thread.sleep(forTimeInterval: Double(seconds))
        let after = try cpuTime(of: agent)
        return Result(cpu: (after - before) / Double(seconds), memory: try peakMemory(of: agent), seconds: seconds)
    }

    private func start(_ program: String, _ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        return process
    }

    private func stop(_ process: Process) {
        process.terminate()
        process.waitUntilExit()
    }

    /// s, of all its threads.
    private func cpuTime(of process: Process) throws -> Double {
        let text = try read(process, "stat")
        // The name in brackets may hold anything; user and system time are fields 14 and 15.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw Failure(description: "no times in \(text)")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private func peakMemory(of process: Process) throws -> Int {
        let line = try read(process, "status").split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw Failure(description: "no VmHWM of the agent")
        }
        return kilobytes * 1024
    }

    private func read(_ process: Process, _ name: String) throws -> String {
        guard process.isRunning else {
            throw Failure(description: "the agent has ended: does it start with --source simulate by hand?")
        }
        return try String(contentsOfFile: "/proc/\(process.processIdentifier)/\(name)", encoding: .utf8)
    }
}
