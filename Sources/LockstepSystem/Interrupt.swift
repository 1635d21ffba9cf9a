import Dispatch
public import Glibc
public import LockstepModel
import Synchronization

/// Records SIGINT and SIGTERM and wakes the loop, so that a command can restore the terminal before it exits.
///
/// Implemented here because the signal sequence of swift-service-lifecycle needs an async context, but commands run in
/// a synchronous loop.
public final class Interrupt {
    private final class Flag: Sendable {
        let signals = Mutex<[(number: Int32, time: ContinuousClock.Instant)]>([])
    }

    private let flag = Flag()
    private let sources: [any DispatchSourceSignal]

    /// Installs the handlers of the signals.
    /// - Parameter signals: SIGINT and SIGTERM, unless a command must also restore something when its terminal closes.
    public init(wakeup: Wakeup, signals: [Int32] = [SIGINT, SIGTERM]) {
        let queue = DispatchQueue(label: "lockstep.interrupt")
        sources = signals.map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        let registration = DispatchGroup()
        for (signal, source) in zip(signals, sources) {
            source.setEventHandler { [flag] in
                flag.signals.withLock { $0.append((signal, ContinuousClock.now)) }
                wakeup.signal()
            }
            registration.enter()
            source.setRegistrationHandler { registration.leave() }
            source.resume()
        }
        // Dispatch installs the handlers on another thread. Wait for it, because the caller may change the terminal
        // only while a signal can no longer end the process.
        registration.wait()
    }

    /// Whether a signal has arrived.
    public var isSet: Bool { signal != nil }

    /// The signal that arrived first, or nil if none has arrived.
    public var signal: Int32? { flag.signals.withLock { $0.first?.number } }

    /// Whether another signal has arrived at least a second after the first: the user does not want to wait.
    public var isRepeated: Bool { flag.signals.withLock { Self.isRepeated($0.map(\.time)) } }

    /// Returns whether signals that arrived at these times are more than one request. `timeout` signals its child and then
    /// the whole process group, so a signal within a second of the first belongs to it.
    static func isRepeated(_ times: [ContinuousClock.Instant]) -> Bool {
        guard let first = times.first else { return false }
        return times.contains { $0 - first >= .seconds(1) }
    }
}
