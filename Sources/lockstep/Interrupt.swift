import Dispatch
import Glibc
import LockstepMQTT
import Synchronization

/// Records SIGINT and SIGTERM and wakes the loop, so that a command can restore the terminal before it exits.
///
/// Implemented here because the signal sequence of swift-service-lifecycle needs an async context, but commands run in
/// a synchronous loop.
final class Interrupt {
    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    private let flag = Flag()
    private let sources: [any DispatchSourceSignal]

    /// Installs the handlers of both signals.
    init(wakeup: Wakeup) {
        let queue = DispatchQueue(label: "lockstep.interrupt")
        sources = [SIGINT, SIGTERM].map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        let registration = DispatchGroup()
        for source in sources {
            source.setEventHandler { [flag] in
                flag.isSet.withLock { $0 = true }
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
    var isSet: Bool { flag.isSet.withLock { $0 } }
}
