import FoundationEssentials
public import Glibc
public import LockstepModel
import Synchronization

/// A system on this machine: its programs are started, supervised and stopped by one thread.
///
/// Call all methods on one thread. The programs are children of this process and never outlive it.
public final class LocalSystem {
    /// What happens in a system.
    public enum Report: Hashable, Sendable {
        /// A part has written a line.
        case line(String)
        /// A part was started.
        case started
        /// A part is ready. After the first time with the number of its restarts.
        case ready
        /// A part is not ready after ``Supervision/patience``, with its status.
        case late(String)
        /// A part has ended unexpectedly and is started again.
        case ended(ProgramEnd, restart: Duration)
        /// A part cannot be started again, with the reason.
        case failed(String, restart: Duration)
        /// A part had not ended after SIGTERM and was killed: because the user asked for it, or because it took too long.
        case killed(isRequested: Bool)
        /// A part was stopped, but has not ended cleanly.
        case endedWithError(ProgramEnd)
    }

    private struct Entry {
        let part: SystemPart
        var program: RunningProgram
        var supervision: Supervision
        var status = ""
        /// The last lines, for the reason of a failure.
        var lines: [String] = []
        /// Whether it is ready as soon as it listens.
        var opensPort: Bool {
            if case .starting = supervision.state { part.readyPort != nil } else { false }
        }
    }

    /// The events of all programs, from their threads.
    private final class Inbox: Sendable {
        let events = Mutex<[(name: String, event: RunningProgram.Event)]>([])
    }

    /// Wakes ``run(until:while:)``.
    public let wakeup = Wakeup()
    private let inbox = Inbox()
    private var entries: [String: Entry] = [:]
    /// Why the system cannot run.
    private var failure: ProgramError?
    /// The environment variables of all programs.
    public let environment: [String: String]
    private let report: (String, Report) -> Void
    private var generator = SystemRandomNumberGenerator()

    /// Creates a system without parts.
    /// - Parameter report: called with the name of a part and what happens to it.
    public init(report: @escaping (String, Report) -> Void) {
        // What a user has set for the commands does not hold for all programs.
        environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LOCKSTEP_") }
        self.report = report
    }

    /// The names of all parts, sorted.
    public var names: [String] { entries.keys.sorted() }

    /// Whether all parts are ready.
    public var isReady: Bool { entries.values.allSatisfy(\.supervision.isReady) }

    /// Whether a part is ready.
    public func isReady(_ name: String) -> Bool { entries[name]?.supervision.isReady ?? false }

    /// The status that a part has reported last; empty if it has not.
    public func status(of name: String) -> String { entries[name]?.status ?? "" }

    /// How often a part was started again after an unexpected end.
    public func restarts(of name: String) -> Int { entries[name]?.supervision.restarts ?? 0 }

    /// Starts a part.
    /// - Throws: ``ProgramError`` if its program cannot be started.
    public func start(_ part: SystemPart) throws(ProgramError) {
        entries[part.name] = Entry(
            part: part, program: try launch(part), supervision: Supervision(startedAt: .now))
        report(part.name, .started)
    }

    /// Kills a part with SIGKILL, or stops it with another signal. It stays down until it is released.
    public func kill(_ name: String, with signal: Int32 = SIGKILL) {
        entries[name]?.supervision.hold()
        entries[name]?.program.signalGroup(signal)
    }

    /// Starts a part again that was killed.
    public func release(_ name: String) { entries[name]?.supervision.release(at: .now) }

    /// Supervises the parts while a condition holds, until a time.
    /// - Throws: ``ProgramError`` if a part ends before it was ever ready.
    public func run(until end: ContinuousClock.Instant, while condition: () -> Bool) throws(ProgramError) {
        while condition(), ContinuousClock.now < end {
            // That a program listens is no event.
            let end = entries.values.contains(where: \.opensPort) ? min(end, .now + .milliseconds(50)) : end
            wakeup.wait(for: nil, until: entries.values.compactMap(\.supervision.deadline).reduce(end, min))
            turn()
            if let failure { throw failure }
        }
    }

    /// Stops the parts of a stage with SIGTERM, and with SIGKILL if they take too long.
    /// - Parameter isUrgent: returns whether to kill what still runs.
    /// - Returns: whether all of them have ended by themselves without an error.
    @discardableResult
    public func stop(_ stage: SystemPart.Stage, isUrgent: () -> Bool = { false }) -> Bool {
        let start = ContinuousClock.now
        let stopped = entries.filter { $0.value.part.stage == stage }.keys.sorted()
        let wasUp = stopped.filter { entries[$0]?.supervision.willStop() == true }
        for name in wasUp { entries[name]?.program.signal(SIGTERM) }
        var killed: Set<String> = []
        while true {
            let left = stopped.compactMap { entries[$0] }.filter { $0.supervision.state != .over }
            guard let patience = left.map(\.part.patience).min() else { break }
            wakeup.wait(for: nil, until: start + patience)
            turn()
            let isRequested = isUrgent()
            for entry in left where isRequested || ContinuousClock.now >= start + entry.part.patience {
                guard entry.program.isRunning, killed.insert(entry.part.name).inserted else { continue }
                report(entry.part.name, .killed(isRequested: isRequested))
                entry.program.signalGroup(SIGKILL)
                entry.program.waitForEnd()
            }
        }
        var isClean = killed.isEmpty
        for name in stopped {
            if let end = entries[name]?.program.end, wasUp.contains(name), !end.isClean, !killed.contains(name) {
                report(name, .endedWithError(end))
                isClean = false
            }
            entries[name] = nil
        }
        return isClean
    }

    /// Stops all parts, devices first and the broker last.
    /// - Parameter isUrgent: returns whether to kill what still runs.
    /// - Returns: whether all of them have ended by themselves without an error.
    @discardableResult
    public func stop(isUrgent: () -> Bool = { false }) -> Bool {
        SystemPart.Stage.allCases.reversed().map { stop($0, isUrgent: isUrgent) }.allSatisfy(\.self)
    }

    private func launch(_ part: SystemPart) throws(ProgramError) -> RunningProgram {
        let name = part.name
        return try RunningProgram(part.program, part.arguments, inheriting: environment, keeping: 1 << 12) {
            [inbox, wakeup] event in
            inbox.events.withLock { $0.append((name, event)) }
            wakeup.signal()
        }
    }

    /// Handles what has happened, and starts what is due.
    private func turn() {
        let events = inbox.events.withLock { events in
            defer { events = [] }
            return events
        }
        for (name, event) in events { handle(event, of: name) }
        let now = ContinuousClock.now
        for name in names {
            if let entry = entries[name], entry.opensPort, let port = entry.part.readyPort, canConnect(port: port) {
                becomeReady(name)
            }
            if entries[name]?.supervision.isLate(at: now) == true { report(name, .late(status(of: name))) }
            guard let entry = entries[name], entry.supervision.isDue(at: now) else { continue }
            do throws(ProgramError) {
                let program = try launch(entry.part)
                entries[name]?.program = program
                entries[name]?.supervision.didStart(at: now)
                report(name, .started)
            } catch {
                guard let delay = entries[name]?.supervision.didFailToStart(at: now, using: &generator) else {
                    continue
                }
                report(name, .failed(error.description, restart: delay))
            }
        }
    }

    private func handle(_ event: RunningProgram.Event, of name: String) {
        switch event {
        case .line(let line):
            entries[name]?.lines.append(line)
            if entries[name]?.lines.count ?? 0 > 20 { entries[name]?.lines.removeFirst() }
            report(name, .line(line))
            if let expected = entries[name]?.part.readyLine, line.hasSuffix(expected) { becomeReady(name) }
        case .ready: becomeReady(name)
        case .status(let status): entries[name]?.status = status
        case .ended(let end):
            entries[name]?.status = ""
            switch entries[name]?.supervision.didEnd(at: .now, using: &generator) ?? .expected {
            case .expected: break
            case .restart(let delay): report(name, .ended(end, restart: delay))
            case .fatal:
                let reason = entries[name]?.lines.last { !$0.isEmpty } ?? "it has printed no reason"
                failure = failure ?? ProgramError("\(name) failed to start (\(end)): \(reason)")
            }
        }
    }

    private func becomeReady(_ name: String) {
        guard entries[name]?.supervision.isReady == false else { return }
        entries[name]?.supervision.didBecomeReady(at: .now)
        report(name, .ready)
    }
}

/// A program of a system: what to start, and when it counts as started.
public struct SystemPart: Hashable, Sendable {
    /// Parts of a lower stage are started first and stopped last.
    public enum Stage: Int, CaseIterable, Comparable, Sendable {
        case broker, collector, services, devices
        public static func < (a: Stage, b: Stage) -> Bool { a.rawValue < b.rawValue }
    }

    /// Its name in logs and reports.
    public var name: String
    /// The path of the program.
    public var program: String
    /// The arguments of the program.
    public var arguments: [String]
    /// When it is started and stopped.
    public var stage: Stage
    /// The end of the line that says that it is ready, for a program that may not use sd_notify(3).
    public var readyLine: String?
    /// The loopback port on which it listens when it is ready, for a program that logs no such line either.
    public var readyPort: UInt16?
    /// The time from SIGTERM to SIGKILL.
    public var patience: Duration

    /// Creates a part.
    public init(
        _ name: String, program: String, _ arguments: [String], stage: Stage, readyLine: String? = nil,
        readyPort: UInt16? = nil, patience: Duration = .seconds(15)
    ) {
        self.name = name
        self.program = program
        self.arguments = arguments
        self.stage = stage
        self.readyLine = readyLine
        self.readyPort = readyPort
        self.patience = patience
    }
}
