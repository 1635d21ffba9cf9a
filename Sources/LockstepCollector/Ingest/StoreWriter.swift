import Dispatch
import LockstepModel
import LockstepStore

/// A store that writes one group while its owner prepares the next.
///
/// The owner is one thread. At most one group is under way: who begins one takes its outcome before anything else.
final class StoreWriter: @unchecked Sendable {  // only the queue, which does one thing at a time, touches the store
    struct Outcome {
        let group: IngestGroup
        let result: Result<IngestResult, any Error>
    }

    private let store: any SampleStore
    private let queue = DispatchQueue(label: "lockstep.collector.store")
    private var outcome: Outcome?

    init(_ store: any SampleStore) { self.store = store }

    /// What is known of every device.
    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot] {
        try queue.sync { try store.lifecycles() }
    }

    /// Begins to write a group, on another thread.
    func begin(_ group: IngestGroup) {
        queue.async { [self] in outcome = Outcome(group: group, result: Result { try store.write(group) }) }
    }

    /// Waits for the group that was begun; nil if none was.
    func finish() -> Outcome? {
        queue.sync {
            defer { outcome = nil }
            return outcome
        }
    }

    /// Writes a group, on the owner's thread.
    func write(_ group: IngestGroup) -> Outcome {
        queue.sync { Outcome(group: group, result: Result { try store.write(group) }) }
    }
}
