import CLinux
import Dispatch
import FoundationEssentials
import Glibc
import Synchronization

/// A child process with its collected output and exit status. It never outlives this process.
///
/// One thread starts the program, reads its output and waits for its end. It lives as long as the program, because the
/// kernel kills a child when the thread that started it ends.
public final class RunningProgram: Sendable {
    /// What happens to a program, in this order.
    public enum Event: Hashable, Sendable {
        /// A line of its standard output or standard error.
        case line(String)
        /// It is ready (`READY=1` of sd_notify(3)).
        case ready
        /// It has a new status (`STATUS=`).
        case status(String)
        /// It has ended.
        case ended(ProgramEnd)
    }

    private struct State {
        /// Bytes rather than text, because a read may end within a character.
        var bytes: [UInt8] = []
        /// Whether all writers have closed the pipe.
        var isComplete = false
        var end: ProgramEnd?
    }

    /// The file name of the program.
    public let name: String
    /// The id of the process.
    public let pid: Int32
    private let state = Mutex(State())
    private let limit: Int
    private let observer: (@Sendable (Event) -> Void)?
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Starts a program and collects its standard output and standard error.
    /// - Parameters:
    ///   - path: the path of the program.
    ///   - environment: variables in addition to those of `base`.
    ///   - input: its standard input, which must fit into a pipe; nil for none.
    ///   - base: the other variables; nil for those of this process.
    ///   - limit: the number of bytes of the output to keep, about; older ones are discarded.
    ///   - observer: called for each event, on the thread of the program.
    /// - Throws: ``ProgramError``.
    public init(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String? = nil,
        inheriting base: [String: String]? = nil, keeping limit: Int = .max,
        observer: (@Sendable (Event) -> Void)? = nil
    ) throws(ProgramError) {
        var variables = (base ?? ProcessInfo.processInfo.environment).merging(environment) { $1 }
        let notifications = observer == nil ? nil : try NotifyListener()
        if let notifications { variables["NOTIFY_SOCKET"] = notifications.name }
        let launch = Launch()
        let all = variables
        try startThread {
            launch.start { () throws(ProgramError) in
                try ChildProcess(path, arguments, environment: all, input: input)
            }
        }
        let child = try launch.child()
        name = String(path.split(separator: "/").last ?? "")
        pid = child.id
        self.limit = limit
        self.observer = observer
        launch.continue { [self] in watch(child, notifications) }
    }

    /// Whether it has not ended.
    public var isRunning: Bool { end == nil }
    /// How it has ended; nil while it runs.
    public var end: ProgramEnd? { state.withLock { $0.end } }
    /// The exit code, or the signal of a killed process; nil while it runs.
    public var status: Int32? {
        switch end {
        case .exit(let status), .signal(let status): status
        case nil: nil
        }
    }
    /// The output so far.
    public var text: String { String(decoding: state.withLock { $0.bytes }, as: UTF8.self) }
    /// Whether no process can write further output.
    public var isOutputComplete: Bool { state.withLock { $0.isComplete } }

    /// Sends a signal to the process, unless it has ended.
    public func signal(_ signal: Int32) { state.withLock { if $0.end == nil { kill(pid, signal) } } }

    /// Signals the process and its children: each program has its own process group.
    public func signalGroup(_ signal: Int32) { state.withLock { if $0.end == nil { kill(-pid, signal) } } }

    /// Blocks the calling thread until the process has ended, and returns its status; nil after `limit`.
    @discardableResult
    public func waitForEnd(within limit: Duration? = nil) -> Int32? {
        let deadline = limit.map { DispatchTime.now() + .milliseconds(Int($0 / .milliseconds(1))) } ?? .distantFuture
        // For the next caller.
        if hasEnded.wait(timeout: deadline) == .success { hasEnded.signal() }
        return status
    }

    /// Stops the process with SIGTERM, and with SIGKILL after `patience`.
    /// - Returns: the exit code, or the signal that killed it.
    @discardableResult
    public func terminate(patience: Duration = .seconds(10)) -> Int32 {
        signal(SIGTERM)
        if let status = waitForEnd(within: patience) { return status }
        signalGroup(SIGKILL)
        return waitForEnd() ?? -1
    }

    // MARK: - The thread of the program

    private func watch(_ child: ChildProcess, _ notifications: NotifyListener?) {
        let process = process_descriptor(child.id)
        var output = OutputLines()
        while true {
            let (isComplete, hasEnded) = state.withLock { ($0.isComplete, $0.end != nil) }
            if isComplete, hasEnded { break }
            var polled = [
                pollfd(fd: isComplete ? -1 : child.output, events: Int16(POLLIN), revents: 0),
                pollfd(fd: hasEnded ? -1 : process, events: Int16(POLLIN), revents: 0),
                pollfd(fd: notifications?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            // Without such a descriptor (old kernels), the end is noticed after that of the output.
            if process < 0, isComplete {
                didEnd(child, &output, notifications)
                continue
            }
            guard poll(&polled, 3, -1) > 0 else { continue }
            if polled[2].revents != 0 { report(notifications) }
            if polled[0].revents != 0 { readOutput(child, &output) }
            if polled[1].revents != 0 { didEnd(child, &output, notifications) }
        }
        close(child.output)
        if process >= 0 { close(process) }
    }

    private func didEnd(_ child: ChildProcess, _ output: inout OutputLines, _ notifications: NotifyListener?) {
        // Without reaping it, so that the id stays that of the child until the lock is held, and no signal can hit another
        // process.
        var information = siginfo_t()
        while waitid(P_PID, id_t(child.id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        readOutput(child, &output)
        report(notifications)
        if let rest = output.takeRest() { observer?(.line(rest)) }
        let end = state.withLock { state in
            let end = ChildProcess.reap(child.id)
            state.end = end
            return end
        }
        hasEnded.signal()
        observer?(.ended(end))
    }

    private func report(_ notifications: NotifyListener?) {
        for line in notifications?.receive() ?? [] {
            if line == "READY=1" { observer?(.ready) }
            if line.hasPrefix("STATUS=") { observer?(.status(String(line.dropFirst(7)))) }
        }
    }

    private func readOutput(_ child: ChildProcess, _ output: inout OutputLines) {
        guard !isOutputComplete else { return }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(child.output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            // A failed read would otherwise look like the end of the output.
            let problem = count < 0 ? Array("[cannot read the output: \(String(cString: strerror(errno)))]".utf8) : []
            let bytes = Array(buffer.prefix(max(0, count))) + problem
            state.withLock { state in
                state.bytes += bytes
                if state.bytes.count / 2 > limit { state.bytes.removeFirst(state.bytes.count - limit) }
                state.isComplete = count <= 0
            }
            if let observer { for line in output.add(bytes) { observer(.line(line)) } }
            if count <= 0 { return }
        }
    }
}

/// Divides output into lines.
struct OutputLines {
    private var rest: [UInt8] = []
    /// A longer line is divided.
    static let maximum = 1 << 16

    /// Adds bytes, and returns the lines that are complete.
    mutating func add(_ bytes: some Collection<UInt8>) -> [String] {
        rest += bytes
        var lines: [String] = []
        var start = 0
        while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: rest[start..<end], as: UTF8.self))
            start = end + 1
        }
        rest.removeFirst(start)
        if rest.count > Self.maximum, let line = takeRest() { lines.append(line) }
        return lines
    }

    /// Returns the line that has no end yet, if there is one.
    mutating func takeRest() -> String? {
        defer { rest = [] }
        return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
    }
}

/// The handover of a child from the thread that has started it to the caller, and of the further work to the thread.
private final class Launch: Sendable {
    private let result = Mutex<Result<ChildProcess, ProgramError>?>(nil)
    private let work = Mutex<(@Sendable () -> Void)?>(nil)
    private let hasResult = DispatchSemaphore(value: 0)
    private let hasWork = DispatchSemaphore(value: 0)

    /// Starts the child, and then does the further work.
    func start(_ body: () throws(ProgramError) -> ChildProcess) {
        let started: Result<ChildProcess, ProgramError>
        do { started = .success(try body()) } catch { started = .failure(error) }
        result.withLock { $0 = started }
        hasResult.signal()
        guard case .success = started else { return }
        hasWork.wait()
        work.withLock { $0.take() }?()
    }

    func child() throws(ProgramError) -> ChildProcess {
        hasResult.wait()
        guard let result = result.withLock({ $0 }) else { preconditionFailure("a thread has started nothing") }
        return try result.get()
    }

    func `continue`(_ body: @escaping @Sendable () -> Void) {
        work.withLock { $0 = body }
        hasWork.signal()
    }
}

/// A program that did not start, or did not behave as expected.
public struct ProgramError: Error, CustomStringConvertible {
    public let description: String
    /// Creates an error.
    public init(_ description: String) { self.description = description }
}

/// How a program has ended.
public enum ProgramEnd: Hashable, Sendable, CustomStringConvertible {
    /// By itself, with an exit status.
    case exit(Int32)
    /// Killed by a signal.
    case signal(Int32)

    /// Whether it has ended by itself and without an error.
    public var isClean: Bool { self == .exit(0) }

    /// For people.
    public var description: String {
        switch self {
        case .exit(let status): "exit status \(status)"
        case .signal(let number): "killed by signal \(number)"
        }
    }
}
