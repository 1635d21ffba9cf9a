import Dispatch
import Glibc
import LockstepStore
import Synchronization

/// A few threads that read the store, each with a reader of its own.
///
/// Reads block, so they must not run on the threads that serve connections. A reader that fails is opened again with
/// the next read, so the pool recovers when a missing store appears or is replaced.
final class StorePool: Sendable {
    /// Whether a read is still wanted.
    final class Interest: Sendable {
        private let isLost = Atomic<Bool>(false)

        /// Whether the client has gone.
        var isCancelled: Bool { isLost.load(ordering: .relaxed) }

        /// Throws if the client has gone.
        func check() throws { if isCancelled { throw CancellationError() } }

        fileprivate func cancel() { isLost.store(true, ordering: .relaxed) }
    }

    private struct State {
        var waiting: [@Sendable (Result<OpenStore, any Error>) -> Void] = []
        var isStopped = false
        var problem: String?
        var hasRead = false
    }

    private let path: String?
    private let maximumWaiting: Int
    private let state = Mutex(State())
    private let signal = DispatchSemaphore(value: 0)
    private let threads: Int

    /// Starts the threads.
    /// - Parameter path: the path of the store, or nil if there is none.
    init(path: String?, threads: Int, maximumWaiting: Int) {
        self.path = path
        self.threads = path == nil ? 0 : threads
        self.maximumWaiting = maximumWaiting
        for index in 0..<self.threads {
            DispatchQueue(label: "lockstep.serve.store-\(index)").async { [self] in run() }
        }
    }

    /// Ends the threads after their present read.
    func stop() {
        state.withLock { $0.isStopped = true }
        for _ in 0..<threads { signal.signal() }
    }

    /// The reason why the last read failed, or nil if it succeeded.
    var problem: String? {
        path == nil ? Self.missing : state.withLock { $0.hasRead ? $0.problem : "the store was not read yet" }
    }

    private static let missing = "no store is configured: start the server with --store sqlite:PATH"

    /// Reads the store on one of the threads.
    /// - Parameter body: reads. It must check its `Interest` while it reads many rows.
    /// - Throws: ``Problem`` if the store cannot be read or too many reads wait; `CancellationError` if the task is
    ///   cancelled; or the error of `body`.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreReader, Interest) throws -> Value
    ) async throws -> Value {
        guard path != nil else { throw Problem.unavailable(Self.missing) }
        let interest = Interest()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Value, any Error>) in
                let isAccepted = state.withLock { state in
                    guard !state.isStopped, state.waiting.count < maximumWaiting else { return false }
                    state.waiting.append { store in
                        done.resume(
                            with: Result {
                                try store.get().read {
                                    try interest.check(); return try body($0, interest)
                                }
                            })
                    }
                    return true
                }
                guard isAccepted else {
                    done.resume(throwing: Problem.unavailable("too many queries wait for the store: try again later"))
                    return
                }
                signal.signal()
            }
        } onCancel: {
            interest.cancel()
        }
    }

    private func run() {
        guard let path else { return }
        var store: OpenStore?
        while true {
            signal.wait()
            let (job, isStopped) = state.withLock { state in
                (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), state.isStopped)
            }
            if let job {
                if store?.isCurrent != true { store = nil }
                let opened = Result { try store ?? OpenStore(path: path) }
                store = try? opened.get()
                // Before the job, whose waiting task may ask for the problem at once.
                note(opened)
                job(opened.mapError { Self.problem($0) })
                if store?.hasFailed == true { store = nil }
            } else if isStopped {
                return
            }
        }
    }

    private func note(_ opened: Result<OpenStore, any Error>) {
        state.withLock { state in
            state.hasRead = true
            state.problem =
                if case .failure(let error) = opened { "\(error)" } else { nil }
        }
    }

    /// Returns the problem document of an error of the store.
    static func problem(_ error: any Error) -> any Error {
        error is StoreError ? Problem.unavailable("the store cannot be read: \(error)") : error
    }
}

/// A reader of the store, used by one thread at a time, with the identity of its file.
final class OpenStore {
    private let path: String
    private let reader: StoreReader
    private let file: FileIdentity?
    /// Whether a read has failed.
    private(set) var hasFailed = false

    private struct FileIdentity: Equatable {
        let device: UInt
        let inode: UInt

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
        }
    }

    init(path: String) throws {
        self.path = path
        file = FileIdentity(path)
        reader = try StoreReader(path: path)
    }

    /// Whether the path still names the opened file.
    var isCurrent: Bool { FileIdentity(path) == file }

    func read<Value>(_ body: (StoreReader) throws -> Value) throws -> Value {
        do { return try body(reader) } catch let error as StoreError {
            hasFailed = true
            throw StorePool.problem(error)
        }
    }
}
