import Dispatch
import Synchronization

/// An attempt to establish TCP and TLS on another thread.
final class ConnectAttempt: Sendable {
    /// The outcome; locked while the attempt is running.
    private let result = Mutex<Result<AddressRace.Winner, MQTTError>?>(nil)

    init(_ options: MQTTOptions, wakeup: Wakeup, memory: AddressMemory) {
        DispatchQueue.global().async { [self] in
            result.withLock { result in
                do throws(MQTTError) {
                    let winner = try AddressRace(options: options, memory: memory).run()
                    winner.connection.completeHandshake()
                    result = .success(winner)
                } catch {
                    result = .failure(error)
                }
            }
            wakeup.signal()
        }
    }

    /// The outcome, or nil while the attempt is running. It can be read only once.
    var outcome: Result<AddressRace.Winner, MQTTError>? {
        result.withLockIfAvailable { $0.take() } ?? nil
    }
}
