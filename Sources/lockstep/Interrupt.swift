import Dispatch
import Glibc
import LockstepMQTT
import Synchronization

/// Tells a loop that SIGINT or SIGTERM has come, so that it can leave the terminal as it was.
final class Interrupt {
    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    private let flag = Flag()
    private let sources: [any DispatchSourceSignal]

    /// Traps both: until then they end the process at once.
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
        // Dispatch traps them on a thread of its own; whoever changes the terminal next counts on it.
        registration.wait()
    }

    var hasCome: Bool { flag.isSet.withLock { $0 } }
}
