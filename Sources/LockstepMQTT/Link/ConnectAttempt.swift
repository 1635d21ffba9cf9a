import Dispatch
import Synchronization

/// An attempt to establish TCP and TLS on another thread.
final class ConnectAttempt: Sendable {
    /// The outcome; locked while the attempt is running.
    private let result = Mutex<Result<MQTTConnection, MQTTError>?>(nil)

    init(_ options: MQTTOptions, wakeup: Wakeup) {
        DispatchQueue.global().async { [self] in
            result.withLock { result in
                do throws(MQTTError) {
                    let connection = try MQTTConnection(options)
                    try connection.connect()
                    result = .success(connection)
                } catch {
                    result = .failure(error)
                }
            }
            wakeup.signal()
        }
    }

    /// The outcome, or nil while the attempt is running. It can be read only once.
    var outcome: Result<MQTTConnection, MQTTError>? {
        result.withLockIfAvailable { $0.take() } ?? nil
    }
}
