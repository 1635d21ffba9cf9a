// Nearly every test starts programs: those who import the test support need not import the module of its programs, too.
@_exported public import LockstepSystem

/// Waiting for programs in asynchronous tests, which must not block their thread.
extension RunningProgram {
    /// Waits until the output contains `part`, or is complete without it.
    public func waitForOutput(_ part: String, within limit: Duration = .seconds(60)) async -> Bool {
        _ = await eventually(within: limit) { text.contains(part) || isOutputComplete }
        return text.contains(part)
    }

    /// Waits until the process has ended. Then waits for the end of its output, but at most 5 s, because a child may
    /// keep it open.
    /// - Returns: The exit code, or nil if the deadline passes first. For a killed process, the signal.
    @discardableResult
    public func waitForExit(within limit: Duration = .seconds(60)) async -> Int32? {
        guard await eventually(within: limit, { !isRunning }) else { return nil }
        _ = await eventually(within: .seconds(5)) { isOutputComplete }
        return status
    }

    /// Sends `signal`, and SIGKILL if the process has not ended after 30 s.
    public func stop(_ signal: Int32 = 15) async {
        self.signal(signal)
        if await waitForExit(within: .seconds(30)) == nil {
            self.signal(9)
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
            await program.stop(9)
            throw ProgramError("\(program.name) has not ended after \(limit): \(program.text)")
        }
        guard await eventually(within: limit, { program.isOutputComplete }) else {
            throw ProgramError(
                "\(program.name) has ended, but its output is still open, perhaps by a child: \(program.text)")
        }
        return (status, program.text)
    }
}
