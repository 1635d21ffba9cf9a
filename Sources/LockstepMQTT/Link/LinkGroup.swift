import CLinux
import Glibc
public import LockstepModel

/// Waits for many links at once with epoll: the cost depends on the number of events, not on the number of links.
///
/// It must be used by the thread of its links. The owner calls ``update(_:)`` after each use of a link, and regularly
/// reads links without a connection, which cause no events.
///
/// Implemented here because SwiftNIO does not allow libmosquitto to read and write its sockets itself.
public final class LinkGroup {
    /// The wakeup of all links.
    public let wakeup: Wakeup
    /// The links, by number.
    public private(set) var links: [BrokerLink] = []

    private let epoll: Int32
    /// The descriptor that is watched for each link, and whether it is watched for writing.
    private var watched: [(descriptor: Int32, wantsWrite: Bool)?] = []
    private var events = [epoll_event](repeating: epoll_event(), count: 512)
    /// The number that represents the wakeup among the link numbers.
    private static let wakeupNumber = UInt64.max

    /// Creates a group without links.
    /// - Parameter wakeup: the wakeup of all links.
    /// - Throws: ``MQTTError`` if no file descriptor is available.
    public init(wakeup: Wakeup) throws(MQTTError) {
        self.wakeup = wakeup
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else {
            throw MQTTError(.other, "no file descriptor is available: \(String(cString: strerror(errno)))")
        }
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.wakeupNumber))
        epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup.descriptor, &event)
    }

    deinit { close(epoll) }

    /// Adds a link.
    /// - Returns: the number of the link.
    @discardableResult
    public func add(_ link: BrokerLink) -> Int {
        link.probesBroker = false
        links.append(link)
        watched.append(nil)
        return links.count - 1
    }

    /// Waits until links can be read or written, a signal arrives, or the deadline is reached.
    /// - Returns: the numbers of links that can be read or written, at most a few hundred.
    public func wait(until deadline: ContinuousClock.Instant) -> [Int] {
        let remaining = ContinuousClock.now.duration(to: deadline)
        let milliseconds = remaining <= .zero ? 0 : min(remaining / .milliseconds(1) + 1, 60_000)
        let count = epoll_wait(epoll, &events, Int32(events.count), Int32(milliseconds))
        guard count > 0 else { return [] }
        return events[..<Int(count)].compactMap { event in
            if event.data.u64 != Self.wakeupNumber { return Int(event.data.u64) }
            wakeup.clear()
            return nil
        }
    }

    /// Updates the watched descriptor of a link.
    public func update(_ number: Int) {
        guard let socket = links[number].socket else {
            // The kernel no longer watches a closed descriptor, and another link may have received its number.
            watched[number] = nil
            return
        }
        let before = watched[number]
        if let before, before == socket { return }
        var event = epoll_event(
            events: EPOLLIN.rawValue | (socket.wantsWrite ? EPOLLOUT.rawValue : 0),
            data: epoll_data_t(u64: UInt64(number)))
        epoll_ctl(
            epoll, before?.descriptor == socket.descriptor ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket.descriptor, &event)
        watched[number] = socket
    }
}
