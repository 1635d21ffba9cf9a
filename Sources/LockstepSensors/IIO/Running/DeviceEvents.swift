import Glibc
import LockstepModel

/// Notifications of added, removed and changed devices (uevents). Tests replace them.
package struct DeviceEvents: Sendable {
    /// Returns a descriptor from which one message per event can be read; nil if events are not available.
    package let open: @Sendable () -> Int32?

    package init(_ open: @escaping @Sendable () -> Int32?) { self.open = open }

    /// The events of the kernel and of udev, through a netlink socket. udev repeats each event of the kernel after it
    /// has set the access rights of the device. Events may not be available in a container. Then devices are found
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

    /// Returns whether a message reports that a device of `subsystem` was added, removed or changed. Changes are
    /// included because udev also sets access rights after them (`udevadm trigger`).
    ///
    /// A message of the kernel consists of `ACTION@PATH` and `KEY=VALUE` pairs, each terminated by a zero byte. A
    /// message of udev has a binary header in place of `ACTION@PATH`.
    package static func isChange(_ message: some Collection<UInt8>, of subsystem: String) -> Bool {
        let fields = properties(of: Array(message)).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        let actions = ["ACTION=add", "ACTION=remove", "ACTION=bind", "ACTION=unbind", "ACTION=change"]
        return fields.contains("SUBSYSTEM=\(subsystem)") && fields.contains(where: actions.contains)
    }

    /// Returns a message without the header of udev: `libudev`, a zero byte, the magic number and the header's size,
    /// then the offset of the properties as a 32-bit number in the machine's byte order (`monitor_netlink_header` in
    /// systemd's sd-device). Only the properties are terminated texts.
    private static func properties(of message: [UInt8]) -> ArraySlice<UInt8> {
        let prefix = Array("libudev\0".utf8)
        let offsetPlace = 16
        guard message.starts(with: prefix), message.count >= offsetPlace + 4 else { return message[...] }
        let offset = message.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offsetPlace, as: UInt32.self) }
        return message.dropFirst(Int(offset))
    }
}

/// Waits for device events on its own thread.
actor DeviceEventReader {
    nonisolated let waker: Wakeup
    private nonisolated let executor = ThreadExecutor(label: "lockstep.uevents")
    private let events: DeviceEvents

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ events: DeviceEvents) throws(IIOError) {
        waker = try Wakeup.forFiles()
        self.events = events
    }

    /// Calls `body` each time a device of `subsystem` was added, removed or changed, until the task is cancelled and
    /// ``waker`` is woken.
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
    /// The multicast groups, as a bit mask: 1 has the messages of the kernel, 2 those of udev.
    var groups: UInt32 = 1 | 2
}
