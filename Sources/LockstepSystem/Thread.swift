import Glibc

/// Starts a thread that runs `body`. Foundation has a class for this, but the programs do not import all of Foundation.
func startThread(_ body: @escaping @Sendable () -> Void) throws(ProgramError) {
    let pointer = Unmanaged.passRetained(ThreadBody(body))
    var handle = pthread_t()
    let code = pthread_create(
        &handle, nil,
        { pointer in
            if let pointer { Unmanaged<ThreadBody>.fromOpaque(pointer).takeRetainedValue().body() }
            return nil
        }, pointer.toOpaque())
    guard code == 0 else {
        pointer.release()
        throw ProgramError("no thread: \(String(cString: strerror(code)))")
    }
    pthread_detach(handle)
}

private final class ThreadBody {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
