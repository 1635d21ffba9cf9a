import FoundationEssentials
import Glibc
import Synchronization

/// The supervisor of the process, such as systemd for a unit with `Type=notify` and `WatchdogSec=`.
///
/// It is notified when the program is ready, of its status, that its main loop is running, and when it stops. Without a
/// supervisor (no `NOTIFY_SOCKET`), nothing happens. Notifications never block and never fail: a notification that
/// cannot be sent is sent again with the next turn. A turn is one pass of the main loop.
public final class Supervisor: Sendable {
    private struct State {
        var isReady = false
        /// The notifications that could not be sent yet.
        var pending = ""
        var lastStatus = ""
        var lastStatusAt: ContinuousClock.Instant?
        var lastWatchdogAt = ContinuousClock.now
    }

    /// The minimum time between two status notifications.
    private static let statusInterval = Duration.seconds(1)

    private let socket: NotifySocket?
    /// The time between two watchdog notifications: half the time that the supervisor allows.
    private let watchdogInterval: Duration?
    private let state = Mutex(State())

    /// Creates a supervisor from the environment variables `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`, see
    /// sd_notify(3) and sd_watchdog_enabled(3).
    /// - Parameter environment: the environment; nil for that of the process.
    public init(environment: [String: String]? = nil) {
        let environment = environment ?? ProcessInfo.processInfo.environment
        socket = environment["NOTIFY_SOCKET"].flatMap { NotifySocket(address: $0) }
        // The variables are inherited, so they may belong to the watchdog of another process.
        let isOwn = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let limit = isOwn ? environment["WATCHDOG_USEC"].flatMap { Int64($0) } : nil
        watchdogInterval = limit.flatMap { $0 > 0 ? .microseconds($0 / 2) : nil }
    }

    private init() {
        socket = nil
        watchdogInterval = nil
    }

    /// A supervisor that ignores all notifications.
    public static let disabled = Supervisor()

    /// The time by which the main loop must report its next turn; nil without a watchdog.
    public var nextTurn: ContinuousClock.Instant? {
        guard socket != nil, let watchdogInterval else { return nil }
        return state.withLock { $0.lastWatchdogAt } + watchdogInterval
    }

    /// Reports one turn (pass) of the main loop. The first turn also reports that the program is ready.
    ///
    /// Only the main loop may call it, on each turn, so that the watchdog detects a loop that hangs.
    /// - Parameter status: the status of the program, in one line.
    public func didTurn(_ status: @autoclosure () -> String) {
        guard let socket else { return }
        let now = ContinuousClock.now
        state.withLock { state in
            if !state.isReady {
                state.isReady = true
                state.pending += "READY=1\n"
            }
            if let watchdogInterval, now >= state.lastWatchdogAt + watchdogInterval {
                state.lastWatchdogAt = now
                state.pending += "WATCHDOG=1\n"
            }
            if state.lastStatusAt.map({ now >= $0 + Self.statusInterval }) ?? true {
                let status = status()
                if status != state.lastStatus {
                    state.lastStatus = status
                    state.lastStatusAt = now
                    state.pending += line(status)
                }
            }
            flush(&state, to: socket)
        }
    }

    /// Reports that the program starts to shut down.
    public func willStop() {
        guard let socket else { return }
        state.withLock { state in
            state.pending += "STOPPING=1\n" + line("stopping")
            flush(&state, to: socket)
        }
    }

    /// Returns a status notification. Newlines are replaced, because each would start another notification.
    private func line(_ status: String) -> String { "STATUS=\(status.replacing("\n", with: " "))\n" }

    private func flush(_ state: inout State, to socket: NotifySocket) {
        guard !state.pending.isEmpty, socket.send(state.pending) else { return }
        state.pending = ""
    }
}

/// The datagram socket that a supervisor receives notifications on, see sd_notify(3).
///
/// Implemented here because libsystemd would be a dependency on every system, only for one call of `sendto`.
final class NotifySocket: Sendable {
    private let descriptor: Int32
    private let address: sockaddr_un
    private let length: socklen_t

    /// Creates a socket, or returns nil if the address is invalid or no file descriptor is available.
    /// - Parameter address: an absolute path, or `@` and a name in the abstract namespace.
    init?(address text: String) {
        let bytes = Array(text.utf8)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@"), bytes.count > 1,
            bytes.count < MemoryLayout.size(ofValue: address.sun_path)
        else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes)
            // `@` stands for the zero byte at the start of an abstract name.
            if bytes[0] == UInt8(ascii: "@") { path[0] = 0 }
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        self.address = address
        // An abstract name has no terminating zero, so its length counts.
        length = socklen_t((MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + bytes.count)
    }

    deinit { close(descriptor) }

    /// Sends one datagram without blocking.
    /// - Returns: false if the socket is full, so that sending must be retried; true otherwise, even if there is no
    ///   receiver.
    func send(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
                    let sent = sendto(descriptor, bytes.baseAddress, bytes.count, flags, address, length)
                    return sent >= 0 || (errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
                }
            }
        }
    }
}
