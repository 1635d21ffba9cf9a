import Glibc
import LockstepModel

extension Wakeup {
    /// The reason why a wait for a file ended.
    enum Readiness { case ready, deadline, woken }

    /// Creates a wakeup for a thread that waits for files.
    static func forFiles() throws(IIOError) -> Wakeup {
        guard let wakeup = make() else { throw IIOError(path: "a pipe", errno: errno) }
        return wakeup
    }

    /// Blocks until `file` is readable or has an error, `deadline` has passed, or there is a signal.
    /// - Parameters:
    ///   - file: A descriptor, or -1 for no file.
    ///   - deadline: The deadline in µs of the boot clock, or nil for no deadline.
    func wait(for file: Int32 = -1, until deadline: Int64? = nil) -> Readiness {
        var files = [pollfd(fd: file, events: Int16(POLLIN), revents: 0)]
        if poll(&files, until: deadline) {
            clear()
            return .woken
        }
        return files[0].revents != 0 ? .ready : .deadline
    }
}
