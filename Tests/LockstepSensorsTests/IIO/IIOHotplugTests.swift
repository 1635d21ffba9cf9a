import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Synchronization
import Testing

/// Device events that are sent by a test instead of the kernel.
private final class FakeEvents: Sendable {
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

    func send(_ action: String, subsystem: String = "iio") throws {
        let message = Array(
            ("\(action)@/devices/x/iio:device0\0ACTION=\(action)\0DEVPATH=/devices/x/iio:device0\0"
                + "SUBSYSTEM=\(subsystem)\0SEQNUM=1\0").utf8)
        guard write(ends.write, message, message.count) == message.count else { throw FileError(reason: "event") }
    }
}

@Suite("IIO devices that appear and disappear while running")
struct IIOHotplugTests {
    @Test(
        "only the addition or removal of a device of the subsystem is a change",
        arguments: [
            ("add", "iio", true), ("remove", "iio", true), ("bind", "iio", true), ("change", "iio", false),
            ("add", "input", false),
        ])
    func events(action: String, subsystem: String, isChange: Bool) {
        let message = Array("\(action)@/d\0ACTION=\(action)\0SUBSYSTEM=\(subsystem)\0".utf8)
        #expect(DeviceEvents.isChange(message, of: "iio") == isChange)
        #expect(!DeviceEvents.isChange([], of: "iio"))
    }

    @Test("a polled device is unavailable at once after its removal, and read again at once after its return")
    func polled() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            let events = try FakeEvents()
            let source = IIOSource(tree: fake.tree, events: events.events)
            // The rate is so low that no reading notices the removal.
            source.setRates([.accelerometer: 0.001])
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.samples(.accelerometer).count == 1 })
                try fake.rename("iio:device0", to: "unplugged")
                try events.send("remove")
                #expect(await sink.wait { $0.statuses.last?.description.hasPrefix("unavailable: ") ?? false })
                try fake.rename("unplugged", to: "iio:device0")
                try events.send("add")
                #expect(await sink.wait { $0.samples(.accelerometer).count == 2 && $0.statuses.last == .running })
            }
        }
    }

    @Test("a buffered device is unavailable after its removal and returns under another number")
    func buffered() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let first = try fake.makeNode("iio:device0")
            defer { first.end() }
            let events = try FakeEvents()
            try await withRunning(IIOSource(tree: fake.tree, events: events.events)) { sink in
                try await fake.wait("iio:device0", "buffer/enable", for: "1")
                try fake.rename("iio:device0", to: "unplugged")
                try events.send("remove")
                #expect(await sink.wait { $0.statuses.last?.description.contains("the sensor is gone") ?? false })
                let second = try fake.makeNode("iio:device3")
                defer { second.end() }
                try fake.set("unplugged", "buffer/enable", "0")
                try fake.rename("unplugged", to: "iio:device3")
                try events.send("add")
                try await fake.wait("iio:device3", "buffer/enable", for: "1")
                try second.writeScan(0, 0, 1, at: Moment.now().boot)
                #expect(await sink.wait { $0.samples(.accelerometer).count == 1 && $0.statuses.last == .running })
            }
        }
    }

    @Test("without device events a returning device is found by retries")
    func withoutEvents() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            let source = IIOSource(tree: fake.tree, events: DeviceEvents { nil })
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.samples(.accelerometer).count >= 1 })
                fake.empty("iio:device0", "in_accel_x_raw")
                #expect(await sink.wait { $0.statuses.last?.description.hasPrefix("unavailable: ") ?? false })
                try fake.addPolledAccelerometer()
                #expect(await sink.wait { $0.statuses.last == .running })
            }
        }
    }

    @Test("the kernel's socket for device events opens where the system allows it")
    func kernel() {
        guard let descriptor = DeviceEvents.kernel.open() else { return }
        close(descriptor)
        #expect(descriptor >= 0)
    }
}
