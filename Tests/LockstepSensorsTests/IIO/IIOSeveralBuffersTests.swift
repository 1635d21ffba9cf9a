import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

private let device = "iio:device0"

@Suite("IIO devices with several buffers")
struct IIOSeveralBuffersTests {
    /// Adds a device whose accelerometer is in `buffer0` and whose gyroscope is in `buffer1`.
    private func addDevice(_ fake: FakeIIO, hasOldFolders: Bool) throws {
        var attributes = ["name": "imu", "current_timestamp_clock": "boottime"]
        for (number, quantity) in ["accel", "anglvel"].enumerated() {
            attributes["in_\(quantity)_scale"] = "0.001"
            var folders = [("buffer\(number)", "buffer\(number)")]
            if hasOldFolders, number == 0 { folders.append(("buffer", "scan_elements")) }
            for (controls, elements) in folders {
                attributes["\(controls)/enable"] = "0"
                attributes["\(controls)/length"] = "2"
                attributes["\(controls)/watermark"] = "1"
                for (index, axis) in ["x", "y", "z"].enumerated() {
                    let element = "\(elements)/in_\(quantity)_\(axis)"
                    attributes[element + "_en"] = "0"
                    attributes[element + "_index"] = "\(index)"
                    attributes[element + "_type"] = "le:s16/16>>0"
                }
                attributes["\(elements)/in_timestamp_en"] = "0"
                attributes["\(elements)/in_timestamp_index"] = "3"
                attributes["\(elements)/in_timestamp_type"] = "le:s64/64>>0"
            }
        }
        try fake.add(device, attributes)
    }

    /// Returns a tree in which each buffer has a FIFO in place of the kernel's descriptor.
    private func tree(_ fake: FakeIIO) -> IIOTree {
        let folder = fake.dev
        let opener = BufferOpener { (_, buffer) throws(IIOError) in
            let path = "\(folder)/buffer\(buffer.index)"
            let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { throw IIOError(path: path, errno: errno) }
            return descriptor
        }
        return IIOTree(sysfsRoot: fake.sysfs, devRoot: fake.dev, bufferOpener: opener)
    }

    @Test("each buffer is read through its own descriptor, with and without the old folders", arguments: [false, true])
    func both(hasOldFolders: Bool) async throws {
        try await withFakeIIO { fake in
            try addDevice(fake, hasOldFolders: hasOldFolders)
            // The node must be readable.
            let node = try fake.makeNode(device)
            let writers = try [fake.makeNode("buffer0"), fake.makeNode("buffer1")]
            defer { for writer in [node] + writers { writer.end() } }
            let source = IIOSource(tree: tree(fake), events: DeviceEvents { nil })
            #expect(
                source.sensors().map(\.access)
                    == ["buffered, \(fake.dev)/iio:device0", "buffered, \(fake.dev)/iio:device0, buffer 1"])
            try await withRunning(source) { sink in
                try await fake.wait(device, hasOldFolders ? "buffer/enable" : "buffer0/enable", for: "1")
                try await fake.wait(device, "buffer1/enable", for: "1")
                let now = Moment.now().boot
                try writers[0].writeScan(0, 0, 9807, at: now)
                try writers[1].writeScan(1000, 0, 0, at: now + 1)
                #expect(await sink.wait { $0.samples(.accelerometer).count == 1 && $0.samples(.gyroscope).count == 1 })
                #expect(sink.seen.samples(.gyroscope).columns.map { $0[0] } == [1, 0, 0])
                #expect(sink.seen.samples(.accelerometer).times == [now])
                #expect(fake.text(device, "buffer1/in_anglvel_z_en") == "1")
            }
            #expect(fake.text(device, "buffer1/enable") == "0")
        }
    }

    @Test(
        "a sensor that cannot be read at first is used when its device becomes accessible, beside one that was polled")
    func late() async throws {
        try await withFakeIIO { fake in
            try addDevice(fake, hasOldFolders: false)
            // Only the accelerometer can be polled.
            try fake.add(device, ["in_accel_x_raw": "1", "in_accel_y_raw": "2", "in_accel_z_raw": "3"])
            let writers = try [fake.makeNode("buffer0"), fake.makeNode("buffer1")]
            defer { for writer in writers { writer.end() } }
            let events = try FakeEvents()
            let source = IIOSource(tree: tree(fake), events: events.events)
            #expect(source.streams == [.accelerometer, .gyroscope])
            #expect(source.sensors().map { $0.problem == nil } == [true, false])
            try await withRunning(source) { sink in
                #expect(
                    await sink.wait {
                        !$0.samples(.accelerometer).isEmpty
                            && $0.statuses.contains { "\($0)".hasPrefix("unavailable: iio:device0 (imu): ") }
                    })
                let node = try fake.makeNode(device)
                defer { node.end() }
                try events.sendFromUdev("add")
                try await fake.wait(device, "buffer0/enable", for: "1")
                try await fake.wait(device, "buffer1/enable", for: "1")
                try writers[0].writeScan(0, 0, 9807, at: Moment.now().boot)
                try writers[1].writeScan(1000, 0, 0, at: Moment.now().boot)
                #expect(
                    await sink.wait {
                        !$0.samples(.gyroscope).isEmpty
                            && $0.samples(.accelerometer).columns[2].last.map { $0 < -0.9 } == true
                    })
            }
        }
    }

    @Test("a channel that is in no buffer is polled beside buffered channels")
    func mixed() async throws {
        try await withFakeIIO { fake in
            try addDevice(fake, hasOldFolders: false)
            try fake.add(device, ["in_pressure_input": "100"])
            _ = try fake.makeNode(device)
            let kinds = IIOSelection(fake.tree.devices()).groups.map(\.kind)
            #expect(kinds == [.buffered(0), .buffered(1), .polled])
        }
    }

    @Test("a buffer that cannot be opened is reported with its number")
    func unknownBuffer() async throws {
        try await withFakeIIO { fake in
            try addDevice(fake, hasOldFolders: false)
            let writer = try fake.makeNode(device)
            defer { writer.end() }
            let source = IIOSource(tree: fake.tree, events: DeviceEvents { nil })
            try await withRunning(source) { sink in
                // A FIFO has no buffers: the ioctl fails.
                #expect(await sink.wait { $0.statuses.contains { "\($0)".contains("iio:device0, buffer 1: ") } })
            }
        }
    }
}
