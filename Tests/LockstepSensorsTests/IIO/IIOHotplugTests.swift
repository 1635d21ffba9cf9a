import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Synchronization
import Testing

@Suite("IIO devices that appear and disappear while running")
struct IIOHotplugTests {
    @Test(
        "the addition, removal or change of a device of the subsystem is a change, from the kernel and from udev",
        arguments: [
            ("add", "iio", true), ("remove", "iio", true), ("bind", "iio", true), ("change", "iio", true),
            ("add", "input", false), ("offline", "iio", false),
        ])
    func events(action: String, subsystem: String, isChange: Bool) {
        let message = Array("\(action)@/d\0ACTION=\(action)\0SUBSYSTEM=\(subsystem)\0".utf8)
        #expect(DeviceEvents.isChange(message, of: "iio") == isChange)
        let fromUdev = FakeEvents.udevMessage(action: action, subsystem: subsystem)
        #expect(DeviceEvents.isChange(fromUdev, of: "iio") == isChange)
        for count in 0..<60 { #expect(!DeviceEvents.isChange(fromUdev.prefix(count), of: "iio")) }
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

    @Test("readings that were collected before the removal of a polled device are delivered")
    func collected() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            let events = try FakeEvents()
            let source = IIOSource(tree: fake.tree, events: events.events, linger: 3_600_000_000)
            source.setRates([.accelerometer: 100])
            try await withRunning(source) { sink in
                for _ in 1...3 { try await fake.waitForReading("iio:device0", "in_accel_z_raw") }
                #expect(sink.seen.blocks.isEmpty)
                try fake.rename("iio:device0", to: "unplugged")
                try events.send("remove")
                #expect(await sink.wait { $0.statuses.last?.description.hasPrefix("unavailable: ") ?? false })
                #expect(sink.seen.samples(.accelerometer).count >= 2)
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

    @Test("the removal of a silent buffered device is noticed at its event, not at a later check")
    func silent() async throws {
        try await withFakeIIO { fake in
            // At this rate no scan is missing for hours.
            try fake.addBuffered(["accel"], more: ["sampling_frequency_available": "0.001 100"])
            let writer = try fake.makeNode("iio:device0")
            defer { writer.end() }
            let events = try FakeEvents()
            let source = IIOSource(tree: fake.tree, events: events.events)
            source.setRates([.accelerometer: 0.001])
            let sink = RemovalSink(source)
            let running = Task { try await source.run(into: sink) }
            try await fake.wait("iio:device0", "buffer/enable", for: "1")
            try fake.rename("iio:device0", to: "unplugged")
            try events.send("remove")
            #expect(await sink.record.wait { $0.statuses.last?.description.hasPrefix("unavailable: ") ?? false })
            #expect(sink.wakeups == 1)
            running.cancel()
            try await running.value
        }
    }
}

/// A sink that records how many wake-ups preceded the report of a removal.
private final class RemovalSink: SampleSink {
    let record = RecordingSink()
    private let source: IIOSource
    private let count = Mutex<Int?>(nil)

    init(_ source: IIOSource) { self.source = source }

    var wakeups: Int? { count.withLock { $0 } }

    func accept(_ samples: SampleBlock, clock: SampleClock) async { await record.accept(samples, clock: clock) }

    func report(_ status: SourceStatus, from name: String) {
        if case .unavailable = status { count.withLock { $0 = $0 ?? source.wakeups } }
        record.report(status, from: name)
    }
}
