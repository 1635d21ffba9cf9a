import Glibc

/// The kernel's notifications of added and removed devices (uevents). Tests replace them.
package struct DeviceEvents: Sendable {
    /// Returns a descriptor from which one message per event can be read; nil if events are not available.
    package let open: @Sendable () -> Int32?

    package init(_ open: @escaping @Sendable () -> Int32?) { self.open = open }

    /// The kernel's events, through a netlink socket. They may not be available in a container. Then devices are found
    /// only by the retries of each reader.
    package static let kernel = DeviceEvents {
        let descriptor = socket(
            AF_NETLINK, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), NetlinkAddress.kernelEvents)
        guard descriptor >= 0 else { return nil }
        let size = socklen_t(MemoryLayout<NetlinkAddress>.size)
        let result = withUnsafePointer(to: NetlinkAddress()) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        guard result == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Returns whether a message reports that a device of `subsystem` was added or removed.
    ///
    /// A message consists of `ACTION@PATH` and `KEY=VALUE` pairs, each terminated by a zero byte.
    package static func isChange(_ message: some Collection<UInt8>, of subsystem: String) -> Bool {
        let fields = message.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        let actions = ["ACTION=add", "ACTION=remove", "ACTION=bind", "ACTION=unbind"]
        return fields.contains("SUBSYSTEM=\(subsystem)") && fields.contains(where: actions.contains)
    }
}

/// Waits for device events on its own thread.
actor DeviceEventReader {
    nonisolated let waker: WakePipe
    private nonisolated let executor = ThreadExecutor(label: "lockstep.uevents")
    private let events: DeviceEvents

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ events: DeviceEvents) throws(IIOError) {
        waker = try WakePipe()
        self.events = events
    }

    /// Calls `body` each time a device of `subsystem` was added or removed, until the task is cancelled and ``waker``
    /// is woken.
    func run(subsystem: String, _ body: @Sendable () -> Void) {
        guard let descriptor = events.open() else { return }
        defer { close(descriptor) }
        while !Task.isCancelled {
            guard waker.wait(for: descriptor) == .ready else { continue }
            var count = 0
            let message = [UInt8](unsafeUninitializedCapacity: 8192) { buffer, filled in
                count = read(descriptor, buffer.baseAddress, buffer.count)
                filled = max(0, count)
            }
            if count == 0 { return }
            // After an overrun (ENOBUFS) messages are missing, so check the devices in that case too.
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            if count < 0 || DeviceEvents.isChange(message, of: subsystem) { body() }
        }
    }
}

/// `struct sockaddr_nl` of <linux/netlink.h>, which Glibc does not export.
private struct NetlinkAddress {
    /// `NETLINK_KOBJECT_UEVENT`.
    static let kernelEvents: Int32 = 15

    var family = sa_family_t(AF_NETLINK)
    var padding: UInt16 = 0
    /// 0 lets the kernel choose the port.
    var port: UInt32 = 0
    /// The multicast group of messages from the kernel itself; group 2 is that of udev.
    var groups: UInt32 = 1
}
