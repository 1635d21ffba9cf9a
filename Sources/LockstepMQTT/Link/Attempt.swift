import Dispatch
import Synchronization

/// An attempt to connect on its own thread. If it succeeds too late, its connection is closed.
///
/// It may block for minutes, so it does not use the threads of the global queue: their number is limited, and attempts that
/// wait for others would wait for ever.
final class Attempt<Value>: Sendable {
    /// The outcome; locked while the attempt is running.
    private let result = Mutex<Result<Value, MQTTError>?>(nil)

    /// Begins an attempt.
    /// - Parameters:
    ///   - didEnd: called on the attempt's thread when there is an outcome.
    ///   - connect: establishes the connection. Blocks.
    init(
        didEnd: @escaping @Sendable () -> Void, _ connect: @escaping @Sendable () throws(MQTTError) -> sending Value
    ) {
        DispatchQueue(label: "lockstep.connect").async { [self] in
            result.withLock { result in
                do throws(MQTTError) { result = .success(try connect()) } catch { result = .failure(error) }
            }
            didEnd()
        }
    }

    /// The outcome, or nil while the attempt is running. It can be read only once.
    var outcome: Result<Value, MQTTError>? {
        result.withLockIfAvailable { $0.take() } ?? nil
    }
}
