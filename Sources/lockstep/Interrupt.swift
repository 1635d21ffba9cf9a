import Dispatch
import Glibc
import LockstepMQTT
import Synchronization

/// Records SIGINT and SIGTERM and wakes the loop, so that a command can restore the terminal before it exits.
final class Interrupt {
    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    private let flag = Flag()
    private let sources: [any DispatchSourceSignal]

    /// Traps both signals.
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
        // Dispatch traps signals on another thread. The caller may change the terminal only after that.
        registration.wait()
    }

    /// Whether a signal has arrived.
    var isSet: Bool { flag.isSet.withLock { $0 } }
}
