import Glibc
import LockstepSensors
import SensorTestSupport

/// Device events that are sent by a test instead of the kernel and udev.
final class FakeEvents: Sendable {
    /// Both ends of a socket that preserves message boundaries, as netlink does.
    private let ends: (read: Int32, write: Int32)

    init() throws {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw FileError(reason: "socketpair") }
        ends = (pair[0], pair[1])
    }

    deinit {
        close(ends.read)
        close(ends.write)
    }

    /// The events, read through a duplicate that the reader closes.
    var events: DeviceEvents {
        let end = ends.read
        return DeviceEvents { dup(end) }
    }

    /// Sends an event of the kernel.
    func send(_ action: String, subsystem: String = "iio") throws {
        try send(
            Array("\(action)@/devices/x/iio:device0\0".utf8) + Self.properties(action: action, subsystem: subsystem))
    }

    /// Sends the event that udev sends after it has set the access rights.
    func sendFromUdev(_ action: String, subsystem: String = "iio") throws {
        try send(Self.udevMessage(action: action, subsystem: subsystem))
    }

    /// Returns a message of udev. The last byte of its header is not zero, so the first property follows it directly.
    static func udevMessage(action: String, subsystem: String) -> [UInt8] {
        let properties = properties(action: action, subsystem: subsystem)
        let size: UInt32 = 40
        let header =
            Array("libudev\0".utf8) + [0xFE, 0xED, 0xCA, 0xFE] + bytes(size) + bytes(size)
            + bytes(UInt32(properties.count)) + [UInt8](repeating: 0x41, count: 16)
        return header + properties
    }

    private static func properties(action: String, subsystem: String) -> [UInt8] {
        Array(
            "ACTION=\(action)\0DEVPATH=/devices/x/iio:device0\0SUBSYSTEM=\(subsystem)\0SEQNUM=1\0".utf8)
    }

    private func send(_ message: [UInt8]) throws {
        guard write(ends.write, message, message.count) == message.count else { throw FileError(reason: "event") }
    }
}
