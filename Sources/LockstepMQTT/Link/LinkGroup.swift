import CEpoll
import Glibc

/// Waits for many links at once, at a cost that grows with what happens and not with their number.
///
/// Belongs to one thread, as its links do. A link that has no connection is read now and then by its owner, who calls
/// ``update(_:)`` after each use of a link.
public final class LinkGroup {
    public let wakeup: Wakeup
    public private(set) var links: [BrokerLink] = []

    private let epoll: Int32
    /// By link: the descriptor that is watched, and what for.
    private var watched: [(descriptor: Int32, wantsWrite: Bool)?] = []
    private var events = [epoll_event](repeating: epoll_event(), count: 512)
    /// What stands for the wakeup among the numbers of links.
    private static let wakeupNumber = UInt64.max

    /// - Parameter wakeup: what the links were, or will be, made with.
    /// - Throws: ``MQTTError`` where the process has no descriptor left.
    public init(wakeup: Wakeup) throws(MQTTError) {
        self.wakeup = wakeup
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else {
            throw MQTTError(.other, "no descriptor is left: \(String(cString: strerror(errno)))")
        }
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.wakeupNumber))
        epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup.readEnd, &event)
    }

    deinit { close(epoll) }

    /// - Returns: the number of the link in this group.
    @discardableResult
    public func add(_ link: BrokerLink) -> Int {
        links.append(link)
        watched.append(nil)
        return links.count - 1
    }

    /// Waits until a link can be read or written, until a signal, or until the deadline.
    /// - Returns: the numbers of the links that can, some hundred at the most.
    public func wait(until deadline: ContinuousClock.Instant) -> [Int] {
        let left = ContinuousClock.now.duration(to: deadline)
        let milliseconds = left <= .zero ? 0 : min(left / .milliseconds(1) + 1, 60_000)
        let count = epoll_wait(epoll, &events, Int32(events.count), Int32(milliseconds))
        guard count > 0 else { return [] }
        return events[..<Int(count)].compactMap { event in
            if event.data.u64 != Self.wakeupNumber { return Int(event.data.u64) }
            wakeup.clear()
            return nil
        }
    }

    /// Watches what the link has to be watched for now.
    public func update(_ number: Int) {
        guard let socket = links[number].socket else {
            // What was closed is not watched any more; its number may already be another link's.
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
