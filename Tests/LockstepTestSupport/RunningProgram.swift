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
    public let pid: Int32
    private let output = Mutex(Output())
    /// The exit code, or the signal of a killed process, once it has ended.
    private let status = Mutex<Int32?>(nil)

    /// Starts a program and collects its standard output and standard error.
    public init(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String? = nil
    ) throws {
        name = String(path.split(separator: "/").last ?? "")
        let child = try ChildProcess(path, arguments, environment: environment, input: input)
        pid = child.id
        // Each on its own thread, so that busy shared threads cannot delay them.
        Thread.detachNewThread { [self] in readOutput(from: child.output) }
        Thread.detachNewThread { [self] in waitForEnd() }
    }

    private func readOutput(from descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            // A failed read would otherwise look like the end of the output.
            let problem = count < 0 ? "[the test cannot read the output: \(String(cString: strerror(errno)))]" : ""
            output.withLock { output in
                output.bytes += buffer.prefix(max(0, count)) + Array(problem.utf8)
                output.isComplete = count <= 0
            }
            if count <= 0 { break }
        }
        close(descriptor)
    }

    private func waitForEnd() {
        var information = siginfo_t()
        // WNOWAIT: the process id stays that of the child until the lock is held, so that no signal can hit another process.
        while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        status.withLock { $0 = ChildProcess.reap(pid) }
    }

    public var isRunning: Bool { status.withLock { $0 == nil } }
    public var text: String { String(decoding: output.withLock { $0.bytes }, as: UTF8.self) }

    public func signal(_ signal: Int32) { status.withLock { if $0 == nil { kill(pid, signal) } } }

    /// Signals the process and its children: each program has its own process group.
    public func signalGroup(_ signal: Int32) { status.withLock { if $0 == nil { kill(-pid, signal) } } }

    /// Waits until the output contains `part`, or is complete without it.
    public func waitForOutput(_ part: String, within limit: Duration = .seconds(60)) async -> Bool {
        _ = await eventually(within: limit) { text.contains(part) || output.withLock { $0.isComplete } }
        return text.contains(part)
    }

    /// Waits until the process has ended. Then waits for the end of its output, but at most 5 s, because a child may
    /// keep it open.
    /// - Returns: The exit code, or nil if the deadline passes first. For a killed process, the signal.
    @discardableResult
    public func waitForExit(within limit: Duration = .seconds(60)) async -> Int32? {
        guard await eventually(within: limit, { !isRunning }) else { return nil }
        _ = await waitForCompleteOutput(within: .seconds(5))
        return status.withLock { $0 }
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
