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

    init(wakeup: Wakeup) {
        let queue = DispatchQueue(label: "lockstep.interrupt")
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: queue)
        }
        for source in sources {
            source.setEventHandler { [flag] in
                flag.isSet.withLock { $0 = true }
                wakeup.signal()
            }
            source.resume()
        }
    }

    var hasCome: Bool { flag.isSet.withLock { $0 } }
}
