import Glibc
import SensorTestSupport

/// Watches a file for events from its creation on (inotify).
struct FileWatch: ~Copyable {
    enum Event {
        case read, change

        fileprivate var mask: UInt32 { UInt32(self == .read ? IN_ACCESS : IN_MODIFY) }
    }

    private let path: String
    private let descriptor: Int32

    init(_ path: String, for event: Event) throws {
        self.path = path
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard inotify_add_watch(descriptor, path, event.mask) >= 0 else {
            throw FileError(reason: "\(path): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    /// Waits for an event since the start of the watch or the last call.
    func wait() async throws {
        try await awaitInput(of: descriptor, else: "no event on \(path)")
        // The kernel may merge events. Events that are not read here count for the next call.
        var events = [UInt8](repeating: 0, count: 4096)
        _ = read(descriptor, &events, events.count)
    }
}
