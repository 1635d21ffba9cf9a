public import Foundation
import Synchronization

/// A child process: its output line by line, and its end.
public final class RunningProgram: Sendable {
    private struct Output {
        var text = ""
    }

    public let name: String
    private let process = Process()
    private let output = Mutex(Output())

    /// Starts a program; what it writes to both outputs is collected.
    public init(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String? = nil
    ) throws {
        name = URL(fileURLWithPath: path).lastPathComponent
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        if let input {
            let source = Pipe()
            process.standardInput = source
            try source.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try source.fileHandleForWriting.close()
        } else {
            process.standardInput = FileHandle.nullDevice
        }
        try Self.withSignalsUnblocked { try process.run() }
        pipe.fileHandleForReading.readabilityHandler = { [self] handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
            } else {
                output.withLock { $0.text += String(decoding: data, as: UTF8.self) }
            }
        }
    }

    /// The threads of a task pool block signals, and a child inherits that: it would never hear SIGTERM.
    private static func withSignalsUnblocked(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    public var pid: Int32 { process.processIdentifier }
    public var isRunning: Bool { process.isRunning }
    public var text: String { output.withLock { $0.text } }

    public func signal(_ signal: Int32) { if process.isRunning { kill(pid, signal) } }

    /// Signals the process and its children: each program leads a process group of its own.
    public func signalGroup(_ signal: Int32) { if process.isRunning { kill(-pid, signal) } }

    /// Waits for an output that contains `part`.
    public func waitForOutput(_ part: String, within limit: Duration = .seconds(60)) async -> Bool {
        await eventually(within: limit) { text.contains(part) }
    }

    /// Waits for the end.
    /// - Returns: the exit code, or nil when the deadline passes first; the code of a killed process is its signal.
    @discardableResult
    public func waitForExit(within limit: Duration = .seconds(60)) async -> Int32? {
        await eventually(within: limit) { !process.isRunning } ? process.terminationStatus : nil
    }

    /// Asks the process to end with `signal`, and kills it if it does not within ten seconds.
    public func stop(_ signal: Int32 = SIGTERM) async {
        self.signal(signal)
        if await waitForExit(within: .seconds(10)) == nil {
            self.signal(SIGKILL)
            await waitForExit()
        }
    }

    /// Runs a program to its end.
    public static func run(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:],
        within limit: Duration = .seconds(60)
    ) async throws -> (status: Int32, text: String) {
        let program = try RunningProgram(path, arguments, environment: environment)
        guard let status = await program.waitForExit(within: limit) else {
            await program.stop(SIGKILL)
            throw ProgramError("\(program.name) did not end within \(limit): \(program.text)")
        }
        // The last output may arrive just after the end.
        var last = program.text
        _ = await eventually(within: .milliseconds(200)) {
            defer { last = program.text }
            return last == program.text && !last.isEmpty
        }
        return (status, program.text)
    }
}
