import Glibc

/// The kernel's notifications that devices appear and disappear (uevents); replaceable in tests.
package struct DeviceEvents: Sendable {
    /// Returns a descriptor from which one message can be read per event; nil where events are not available.
    package let open: @Sendable () -> Int32?

    package init(_ open: @escaping @Sendable () -> Int32?) { self.open = open }

    /// The kernel's events, through a netlink socket. In a container there may be none; devices are then found by the
    /// retries of each reader alone.
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

    /// Returns whether a message is about the arrival or departure of a device of `subsystem`.
    ///
    /// A message is `ACTION@PATH`, then `KEY=VALUE` pairs, each ended by a zero byte.
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

    /// Calls `body` after each arrival or departure of a device of `subsystem`, until the task is cancelled and ``waker``
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
            // After an overrun (ENOBUFS) messages are missing, so the devices are checked as well.
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
    /// The group of messages that come from the kernel itself, not from udev.
    var groups: UInt32 = 1
}
