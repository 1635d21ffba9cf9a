public import Dispatch
public import LockstepModel
import Synchronization

/// A thread of its own for a loop that waits in a ``Wakeup`` until it is to end.
public final class LoopThread: Sendable {
    /// Wakes the loop.
    public let wakeup: Wakeup
    private let queue: DispatchQueue
    private let isStopped = Atomic(false)

    /// Creates a thread without a loop.
    /// - Parameters:
    ///   - label: the name in debuggers.
    ///   - wakeup: what the loop waits in, if others wake it as well.
    public init(_ label: String, qos: DispatchQoS = .unspecified, wakeup: Wakeup = Wakeup()) {
        self.wakeup = wakeup
        queue = DispatchQueue(label: label, qos: qos)
    }

    /// Whether the loop is to end.
    public var isStopping: Bool { isStopped.load(ordering: .acquiring) }

    /// Lets the loop end. Never blocks.
    public func stop() {
        isStopped.store(true, ordering: .releasing)
        wakeup.signal()
    }

    /// Runs the loop, and returns at its end.
    public func run<E: Error>(_ loop: @escaping @Sendable () throws(E) -> Void) async throws(E) {
        let result: Result<Void, E> = await withCheckedContinuation { done in
            queue.async {
                do throws(E) {
                    try loop()
                    done.resume(returning: .success(()))
                } catch { done.resume(returning: .failure(error)) }
            }
        }
        try result.get()
    }

    /// Starts the loop, and returns at once.
    public func start(_ loop: @escaping @Sendable () -> Void) { queue.async(execute: loop) }

    /// Lets the loop end, and waits for it.
    public func finish() {
        stop()
        queue.sync {}
    }
}
