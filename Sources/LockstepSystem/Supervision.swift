import Glibc
public import LockstepModel

/// When a part of a system is started again: a pure decision, without processes and clocks.
///
/// A part that ends before it was ready for the first time has a mistake in its settings, or no port: starting it again
/// would not help, so the system fails. A part that was ready once is started again, with exponential backoff, until it is
/// stopped. A part that is held down stays down until it is released, as in a test of faults.
public struct Supervision: Sendable {
    /// What the part does.
    public enum State: Hashable, Sendable {
        /// It runs, but is not ready.
        case starting(since: ContinuousClock.Instant)
        /// It is ready.
        case ready(since: ContinuousClock.Instant)
        /// It has ended, and is started again at this time.
        case waiting(until: ContinuousClock.Instant)
        /// It stays down until it is released.
        case held
        /// It has ended for good.
        case over
    }

    /// What follows from the end of a part.
    public enum Verdict: Hashable, Sendable {
        /// It was asked to end.
        case expected
        /// The system cannot run: it has ended before it was ever ready.
        case fatal
        /// It is started again after a delay.
        case restart(after: Duration)
    }

    /// The time after which a part that is not ready is reported.
    public static let patience = Duration.seconds(20)
    /// The time for which a part must be ready, so that the next delay is short again.
    static let stableTime = Duration.seconds(10)

    /// What the part does.
    public private(set) var state: State
    /// Whether it was ready at some time.
    public private(set) var wasReady = false
    /// How often it was started again after an unexpected end.
    public private(set) var restarts = 0
    private var isStopping = false
    private var isHeld = false
    private var isReported = false
    private var backoff: Backoff

    /// Creates the supervision of a part that has been started.
    public init(startedAt now: ContinuousClock.Instant, backoff: Backoff = Backoff()) {
        state = .starting(since: now)
        self.backoff = backoff
    }

    /// Whether it is ready.
    public var isReady: Bool { if case .ready = state { true } else { false } }

    /// The part has reported that it is ready.
    public mutating func didBecomeReady(at now: ContinuousClock.Instant) {
        guard case .starting = state else { return }
        state = .ready(since: now)
        wasReady = true
    }

    /// The process has ended.
    public mutating func didEnd(
        at now: ContinuousClock.Instant, using generator: inout some RandomNumberGenerator
    ) -> Verdict {
        if isStopping {
            state = .over
            return .expected
        }
        if isHeld {
            state = .held
            return .expected
        }
        guard wasReady else {
            state = .over
            return .fatal
        }
        if case .ready(let since) = state, now - since >= Self.stableTime { backoff.reset() }
        let delay = backoff.next(using: &generator)
        state = .waiting(until: now + delay)
        restarts += 1
        return .restart(after: delay)
    }

    /// The program could not be started again.
    public mutating func didFailToStart(
        at now: ContinuousClock.Instant, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let delay = backoff.next(using: &generator)
        state = .waiting(until: now + delay)
        return delay
    }

    /// The time at which ``isDue(at:)`` or ``isLate(at:)`` becomes true; nil if nothing is expected.
    public var deadline: ContinuousClock.Instant? {
        switch state {
        case .waiting(let until): until
        case .starting(let since): isReported ? nil : since + Self.patience
        case .ready, .held, .over: nil
        }
    }

    /// Whether the part is to be started now.
    public func isDue(at now: ContinuousClock.Instant) -> Bool {
        if case .waiting(let until) = state { now >= until } else { false }
    }

    /// Returns true once if the part is not ready for too long.
    public mutating func isLate(at now: ContinuousClock.Instant) -> Bool {
        guard !isReported, case .starting(let since) = state, now >= since + Self.patience else { return false }
        isReported = true
        return true
    }

    /// The part has been started again.
    public mutating func didStart(at now: ContinuousClock.Instant) {
        state = .starting(since: now)
        isReported = false
    }

    /// The part is going to be killed, and stays down until ``release(at:)``.
    public mutating func hold() {
        isHeld = true
        if case .waiting = state { state = .held }
    }

    /// A part that is held may run again: it is due at once if it is down.
    public mutating func release(at now: ContinuousClock.Instant) {
        isHeld = false
        if state == .held { state = .waiting(until: now) }
    }

    /// The part is going to be stopped for good.
    /// - Returns: whether a process must be stopped.
    public mutating func willStop() -> Bool {
        isStopping = true
        switch state {
        case .starting, .ready: return true
        case .waiting, .held, .over:
            state = .over
            return false
        }
    }
}

/// The socket to which a child reports that it is ready, and its status, see sd_notify(3).
final class NotifyListener: Sendable {
    let descriptor: Int32
    /// The value of the child's variable `NOTIFY_SOCKET`: a name in the abstract namespace that the kernel has chosen.
    let name: String

    init() throws(ProgramError) {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var length = socklen_t(MemoryLayout<sa_family_t>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard bind(descriptor, generic, length) == 0 else { return false }
                length = socklen_t(MemoryLayout<sockaddr_un>.size)
                return getsockname(descriptor, generic, &length) == 0
            }
        }
        let count = Int(length) - MemoryLayout<sa_family_t>.size
        let bytes = withUnsafeBytes(of: address.sun_path) { Array($0.prefix(max(0, count)).dropFirst()) }
        name = "@" + String(decoding: bytes, as: UTF8.self)
        guard isBound else { throw ProgramError("no socket: \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// Returns the lines that have arrived, such as `READY=1`.
    func receive() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var lines: [String] = []
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { return lines }
            lines += String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }
}
