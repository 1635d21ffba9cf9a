public import Foundation
import Synchronization

/// A child process with its collected output and exit status.
public final class RunningProgram: Sendable {
    private struct Output {
        /// Bytes rather than text, because a read may end within a character.
        var bytes: [UInt8] = []
        /// Whether all writers have closed the pipe.
        var isComplete = false
    }

    public let name: String
    private let process = Process()
    private let output = Mutex(Output())

    /// Starts a program and collects its standard output and standard error.
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
        // On its own thread, so that busy shared threads cannot delay it.
        Thread.detachNewThread { [self] in readOutput(of: pipe) }
    }

    private func readOutput(of pipe: Pipe) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(pipe.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            // A failed read would otherwise look like the end of the output.
            let problem = count < 0 ? "[the test cannot read the output: \(String(cString: strerror(errno)))]" : ""
            output.withLock { output in
                output.bytes += buffer.prefix(max(0, count)) + Array(problem.utf8)
                output.isComplete = count <= 0
            }
            if count <= 0 { return }
        }
    }

    /// Unblocks signals meanwhile. The threads of a task pool block them, and a child inherits that and would never
    /// receive SIGTERM.
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
    public var text: String { String(decoding: output.withLock { $0.bytes }, as: UTF8.self) }

    public func signal(_ signal: Int32) { if process.isRunning { kill(pid, signal) } }

    /// Signals the process and its children: each program has its own process group.
    public func signalGroup(_ signal: Int32) { if process.isRunning { kill(-pid, signal) } }

    /// Waits until the output contains `part`.
    public func waitForOutput(_ part: String, within limit: Duration = .seconds(60)) async -> Bool {
        await eventually(within: limit) { text.contains(part) }
    }

    /// Waits until the process has ended. Then waits for the end of its output, but at most 5 s, because a child may
    /// keep it open.
    /// - Returns: The exit code, or nil if the deadline passes first. For a killed process, the signal.
    @discardableResult
    public func waitForExit(within limit: Duration = .seconds(60)) async -> Int32? {
        guard await eventually(within: limit, { !process.isRunning }) else { return nil }
        _ = await waitForCompleteOutput(within: .seconds(5))
        return process.terminationStatus
    }

    private func waitForCompleteOutput(within limit: Duration) async -> Bool {
        await eventually(within: limit) { output.withLock { $0.isComplete } }
    }

    /// Sends `signal`, and SIGKILL if the process has not ended after 30 s.
    public func stop(_ signal: Int32 = SIGTERM) async {
        self.signal(signal)
        if await waitForExit(within: .seconds(30)) == nil {
            self.signal(SIGKILL)
            await waitForExit()
        }
    }

    /// Runs a program until it has ended and its output is complete, each within `limit`.
    public static func run(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:],
        within limit: Duration = .seconds(60)
    ) async throws -> (status: Int32, text: String) {
        let program = try RunningProgram(path, arguments, environment: environment)
        guard let status = await program.waitForExit(within: limit) else {
            await program.stop(SIGKILL)
            throw ProgramError("\(program.name) has not ended after \(limit): \(program.text)")
        }
        guard await program.waitForCompleteOutput(within: limit) else {
            throw ProgramError(
                "\(program.name) has ended, but its output is still open, perhaps by a child: \(program.text)")
        }
        return (status, program.text)
    }
}
