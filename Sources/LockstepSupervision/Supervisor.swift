import FoundationEssentials
import Glibc
import Synchronization

/// Who watches over the process, as systemd does over a unit of `Type=notify` with `WatchdogSec=`: is told when the
/// program is ready, how it is, that its main loop still turns, and that it ends.
///
/// Without a supervisor (no `NOTIFY_SOCKET`) nothing happens. It never blocks and never fails: what can't be sent now is
/// sent with the next turn.
public final class Supervisor: Sendable {
    private struct State {
        var isReady = false
        var unsent = ""
        var said = ""
        var saidAt: ContinuousClock.Instant?
        var aliveAt = ContinuousClock.now
    }

    /// Between two words on how the program is: a supervisor keeps the last one only.
    private static let statusInterval = Duration.seconds(1)

    private let socket: NotifySocket?
    /// How often to say that the loop turns: twice as often as the supervisor wants to hear it.
    private let aliveInterval: Duration?
    private let state = Mutex(State())

    /// - Parameter environment: nil for that of the process. `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` are
    ///   read, see sd_notify(3) and sd_watchdog_enabled(3).
    public init(environment: [String: String]? = nil) {
        let environment = environment ?? ProcessInfo.processInfo.environment
        socket = environment["NOTIFY_SOCKET"].flatMap { NotifySocket(address: $0) }
        // A watchdog of another process is not ours to feed: the variables are inherited.
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let limit = isOurs ? environment["WATCHDOG_USEC"].flatMap { Int64($0) } : nil
        aliveInterval = limit.flatMap { $0 > 0 ? .microseconds($0 / 2) : nil }
    }

    private init() {
        socket = nil
        aliveInterval = nil
    }

    /// Nobody.
    public static let nobody = Supervisor()

    /// When the loop has to have turned; nil where nobody asks.
    public var nextTurn: ContinuousClock.Instant? {
        guard socket != nil, let aliveInterval else { return nil }
        return state.withLock { $0.aliveAt } + aliveInterval
    }

    /// The program's main loop turns: to be called by that loop and nobody else, on each turn, so that a loop that
    /// hangs shows. The first turn says that the program is ready.
    /// - Parameter status: one line on how the program is.
    public func turned(_ status: @autoclosure () -> String) {
        guard let socket else { return }
        let now = ContinuousClock.now
        state.withLock { state in
            if !state.isReady {
                state.isReady = true
                state.unsent += "READY=1\n"
            }
            if let aliveInterval, now >= state.aliveAt + aliveInterval {
                state.aliveAt = now
                state.unsent += "WATCHDOG=1\n"
            }
            if state.saidAt.map({ now >= $0 + Self.statusInterval }) ?? true {
                let status = status()
                if status != state.said {
                    state.said = status
                    state.saidAt = now
                    state.unsent += line(status)
                }
            }
            flush(&state, to: socket)
        }
    }

    /// The program begins to end.
    public func stopping() {
        guard let socket else { return }
        state.withLock { state in
            state.unsent += "STOPPING=1\n" + line("ends")
            flush(&state, to: socket)
        }
    }

    /// A status, without what would begin another word to the supervisor.
    private func line(_ status: String) -> String { "STATUS=\(status.replacing("\n", with: " "))\n" }

    private func flush(_ state: inout State, to socket: NotifySocket) {
        guard !state.unsent.isEmpty, socket.send(state.unsent) else { return }
        state.unsent = ""
    }
}
