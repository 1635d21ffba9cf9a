import Glibc

/// A thread that runs one function.
final class QueryThread<Result> {
    private final class Work {
        let body: () throws -> Result
        var result: Swift.Result<Result, any Error>?

        init(_ body: @escaping () throws -> Result) { self.body = body }
    }

    private let work: Work
    private var handle = pthread_t()

    /// Starts the thread, or returns nil if the system refuses it.
    /// - Parameter body: must only use what no other thread uses until ``join()`` returns, or what is `Sendable`.
    init?(_ body: @escaping () throws -> Result) {
        work = Work(body)
        let pointer = Unmanaged.passRetained(Function { [work] in work.result = Swift.Result { try work.body() } })
        let code = pthread_create(
            &handle, nil,
            { pointer in
                if let pointer { Unmanaged<Function>.fromOpaque(pointer).takeRetainedValue().body() }
                return nil
            }, pointer.toOpaque())
        guard code == 0 else {
            pointer.release()
            return nil
        }
    }

    /// Waits for the end of the thread, and returns its result. Call it exactly once.
    /// - Throws: the error of the function.
    func join() throws -> Result {
        pthread_join(handle, nil)
        guard let result = work.result else { preconditionFailure("a thread has ended without a result") }
        return try result.get()
    }
}

/// A function that a C pointer can refer to: its type does not depend on the type of the result.
private final class Function {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
}
