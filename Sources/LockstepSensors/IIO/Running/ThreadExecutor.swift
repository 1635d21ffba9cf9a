internal import Dispatch
import Glibc
import LockstepModel
import Synchronization

/// Lets a thread wait for a file, a deadline or a wake-up from another thread.
package final class WakePipe: Sendable {
    /// The reason why a wait ended.
    enum Readiness { case ready, deadline, woken }

    private let wakeEnd: Int32
    private let waitEnd: Int32
    private let count = Atomic<Int>(0)

    init() throws(IIOError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw IIOError(path: "a pipe", errno: errno) }
        (waitEnd, wakeEnd) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        close(waitEnd)
        close(wakeEnd)
    }

    /// The number of waits that ended.
    package var wakeups: Int { count.load(ordering: .relaxed) }

    /// Ends the current wait, or the next one.
    func wake() {
        var byte: UInt8 = 1
        // Fails only if the pipe is full, and then the next wait ends anyway.
        _ = write(wakeEnd, &byte, 1)
    }

    /// Blocks until `file` is readable or has an error, `deadline` has passed, or ``wake()`` is called.
    /// - Parameters:
    ///   - file: A descriptor, or -1 for no file.
    ///   - deadline: The deadline in µs of the boot clock, or nil for no deadline.
    func wait(for file: Int32 = -1, until deadline: Int64? = nil) -> Readiness {
        while true {
            var polled = [
                pollfd(fd: waitEnd, events: Int16(POLLIN), revents: 0),
                pollfd(fd: file, events: Int16(POLLIN), revents: 0),
            ]
            var timeout: Int32 = -1
            if let deadline {
                // Rounded up, so that the deadline has passed when the wait ends.
                timeout = Int32(min(max(0, deadline - Moment.now().boot + 999) / 1000, 3_600_000))
            }
            _ = poll(&polled, 2, timeout)
            count.add(1, ordering: .relaxed)
            if polled[0].revents != 0 {
                var bytes = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
                while read(waitEnd, &bytes, MemoryLayout.size(ofValue: bytes)) > 0 {}
                return .woken
            }
            if polled[1].revents != 0 { return .ready }
            if let deadline, Moment.now().boot >= deadline { return .deadline }
        }
    }
}

/// Runs an actor on its own queue, so that it may block without occupying a thread of Swift's cooperative pool.
final class ThreadExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
