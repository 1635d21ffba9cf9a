import Dispatch
import LockstepClickHouse
import LockstepHTTP
import LockstepStore
import Synchronization

/// A few threads that read the store, each with a reader of its own.
///
/// Reads block, so they must not run on the threads that serve connections. A reader that fails is opened again with
/// the next read, so the pool recovers when a missing store appears or is replaced.
final class StorePool: Sendable {
    /// A read that waits for a thread. It returns what passes its result on.
    private typealias Job = @Sendable (Result<OpenStore, any Error>) -> @Sendable () -> Void

    private struct State {
        var waiting: [Job] = []
        /// The reads that have not ended.
        var cancellations: [ObjectIdentifier: QueryCancellation] = [:]
        var isStopped = false
        var problem: String? = "the store was not read yet"
        var statistics = Statistics()
    }

    /// Counters of the reads since the start.
    struct Statistics: Hashable, Sendable {
        var reads = 0
        var failures = 0
        var duration = Duration.zero
    }

    private let address: StoreAddress?
    private let threads: Int
    private let maxWaiting: Int
    private let state = Mutex(State())
    private let signal = DispatchSemaphore(value: 0)

    /// Starts the threads.
    /// - Parameter address: the store, or nil if there is none.
    init(_ address: StoreAddress?, threads: Int, maxWaiting: Int) {
        self.address = address
        self.threads = address == nil ? 0 : threads
        self.maxWaiting = maxWaiting
        for index in 0..<self.threads {
            DispatchQueue(label: "lockstep.serve.store-\(index)").async { [self] in run() }
        }
    }

    /// Cancels all reads, ends the threads, and refuses further reads.
    func stop() {
        let cancellations = state.withLock { state in
            state.isStopped = true
            return Array(state.cancellations.values)
        }
        for cancellation in cancellations { cancellation.cancel() }
        for _ in 0..<threads { signal.signal() }
    }

    /// Whether a store is configured.
    var hasStore: Bool { address != nil }

    /// Whether the store is a file.
    var isFile: Bool { if case .sqlite? = address { true } else { false } }

    /// The reason why the store cannot be read, or nil if the last read succeeded.
    var problem: String? { address == nil ? Self.missing : state.withLock { $0.problem } }

    var statistics: Statistics { state.withLock { $0.statistics } }

    private static let missing =
        "no store is configured: start the server with --store sqlite:PATH, or with a ClickHouse store"

    /// Reads the store on one of the threads.
    /// - Parameter body: reads. It passes the cancellation on to queries, so that they end when the client goes away.
    /// - Throws: ``Problem`` if the store cannot be read or too many reads wait; `CancellationError` if the task is
    ///   cancelled; or the error of `body`.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreReader, QueryCancellation) throws -> Value
    ) async throws -> Value {
        guard address != nil else { throw Problem.unavailable(Self.missing) }
        let cancellation = QueryCancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Value, any Error>) in
                let refusal = enqueue(cancellation) { store in
                    let result = Result {
                        guard !cancellation.isCancelled else { throw CancellationError() }
                        return try store.get().read { try body($0, cancellation) }
                    }
                    return { done.resume(with: result) }
                }
                if let refusal { done.resume(throwing: refusal) }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    /// Adds a job, or returns the reason why it is refused.
    private func enqueue(_ cancellation: QueryCancellation, _ job: @escaping Job) -> Problem? {
        let id = ObjectIdentifier(cancellation)
        let refusal: Problem? = state.withLock { state in
            if state.isStopped { return .unavailable("the server is stopping: try again later") }
            guard state.waiting.count < maxWaiting else {
                return .unavailable("too many queries wait for the store: try again later", retryAfter: 2)
            }
            state.cancellations[id] = cancellation
            state.waiting.append { [self] store in
                let deliver = job(store)
                self.state.withLock { $0.cancellations[id] = nil }
                return deliver
            }
            return nil
        }
        if refusal == nil { signal.signal() }
        return refusal
    }

    private func run() {
        guard let address else { return }
        var store: OpenStore?
        while true {
            signal.wait()
            let (job, isStopped) = state.withLock { state in
                (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), state.isStopped)
            }
            guard let job else {
                if isStopped { return }
                continue
            }
            let start = ContinuousClock.now
            if store?.isCurrent != true { store = nil }
            let opened = Result { try store ?? OpenStore(address) }
            store = try? opened.get()
            let deliver = job(opened.mapError(OpenStore.problem))
            let failure = store?.failure
            if failure != nil { store = nil }
            state.withLock { state in
                state.statistics.reads += 1
                state.statistics.duration += ContinuousClock.now - start
                if store == nil { state.statistics.failures += 1 }
                if case .failure(let error) = opened { state.problem = "\(error)" } else { state.problem = failure }
            }
            // After the problem is noted, because the waiting task may ask for it at once.
            deliver()
        }
    }
}
