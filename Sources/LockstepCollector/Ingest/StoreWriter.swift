import Dispatch
import LockstepModel
import LockstepStore
import Synchronization

/// A store that writes one group while its owner prepares the next.
///
/// The owner is one thread. At most one group is under way: who begins one takes its outcome before anything else.
final class StoreWriter: Sendable {
    struct Outcome: Sendable {
        let group: IngestGroup
        let result: Result<IngestResult, any Error>
    }

    private struct State {
        let store: any SampleStore
        var outcome: Outcome?

        func write(_ group: IngestGroup) -> Outcome {
            Outcome(group: group, result: Result { try store.write(group) })
        }
    }

    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "lockstep.collector.store")

    init(_ store: sending any SampleStore) { state = Mutex(State(store: store)) }

    /// What is known of every device.
    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot] {
        try state.withLock { try $0.store.lifecycles() }
    }

    /// Begins to write a group, on another thread.
    func begin(_ group: IngestGroup) {
        queue.async { [self] in state.withLock { $0.outcome = $0.write(group) } }
    }

    /// Waits for the group that was begun; nil if none was.
    func finish() -> Outcome? {
        // After what waits in the queue.
        queue.sync { state.withLock { $0.outcome.take() } }
    }

    /// Writes a group, on the owner's thread.
    func write(_ group: IngestGroup) -> Outcome { state.withLock { $0.write(group) } }
}
