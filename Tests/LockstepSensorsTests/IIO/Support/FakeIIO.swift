import FoundationEssentials
import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Synchronization

/// A fake of sysfs and /dev in a temporary folder, with plain files as attributes and FIFOs as devices.
final class FakeIIO: Sendable {
    let folder: String
    var sysfs: String { folder + "/sys" }
    var dev: String { folder + "/dev" }
    private var devices: String { sysfs + "/bus/iio/devices" }

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/lockstep-iio-\(UUID().uuidString)"
        for path in [devices, dev] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
    }

    /// A source that reads this tree.
    var source: IIOSource { source(linger: SourceOptions.defaultLinger) }

    /// Returns a source that reads this tree, with a linger in µs.
    func source(linger: Int64) -> IIOSource {
        IIOSource(sysfsRoot: sysfs, devRoot: dev, linger: linger)
    }

    /// Returns a source that reads this tree, with the choices of a user.
    func source(choices: IIOChoices) -> IIOSource {
        IIOSource(sysfsRoot: sysfs, devRoot: dev, choices: choices)
    }

    /// Writes what udev stores for a device.
    func addUdev(_ name: String, _ text: String) throws {
        let data = folder + "/run/udev/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        try text.write(toFile: "\(data)/\(name)", atomically: false, encoding: .utf8)
    }

    var tree: IIOTree { IIOTree(sysfsRoot: sysfs, devRoot: dev) }

    /// Creates attributes of a device or trigger.
    func add(_ id: String, _ attributes: [String: String]) throws {
        for (name, text) in attributes {
            let path = "\(devices)/\(id)/\(name)"
            let parent = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            try (text + "\n").write(toFile: path, atomically: false, encoding: .utf8)
        }
    }

    /// Changes an attribute atomically: a reader sees either the old or the new text. The text is padded, so that it
    /// overwrites a longer old text.
    func set(_ id: String, _ name: String, _ text: String) throws {
        let descriptor = open("\(devices)/\(id)/\(name)", O_WRONLY)
        guard descriptor >= 0 else { throw FileError(reason: "\(name): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        let bytes = Array((text + String(repeating: "\n", count: max(1, 24 - text.utf8.count))).utf8)
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else { throw FileError(reason: name) }
    }

    /// Returns the text of an attribute.
    func text(_ id: String, _ name: String) -> String {
        AttributeFolder("\(devices)/\(id)").text(name) ?? "(none)"
    }

    /// Waits until an attribute has the text `text`.
    func wait(_ id: String, _ name: String, for text: String) async throws {
        let changes = try FileWatch("\(devices)/\(id)/\(name)", for: .change)
        while self.text(id, name) != text { try await changes.wait() }
    }

    /// Waits until an attribute is read.
    func waitForReading(_ id: String, _ name: String) async throws {
        try await FileWatch("\(devices)/\(id)/\(name)", for: .read).wait()
    }

    /// Replaces an attribute with a symbolic link.
    func link(_ id: String, _ name: String, to target: String) throws {
        try remove(id, name)
        guard symlink(target, "\(devices)/\(id)/\(name)") == 0 else { throw FileError(reason: name) }
    }

    /// Removes an attribute, or the whole device if `name` is empty.
    func remove(_ id: String, _ name: String = "") throws {
        try FileManager.default.removeItem(atPath: "\(devices)/\(id)" + (name.isEmpty ? "" : "/" + name))
    }

    /// Removes a device from sysfs; its character device remains.
    func unplug(_ id: String) throws { try rename(id, to: "unplugged-\(id)") }

    /// Restores a removed device with its buffer disabled.
    func plugIn(_ id: String) throws {
        try set("unplugged-\(id)", "buffer/enable", "0")
        try rename("unplugged-\(id)", to: id)
    }

    /// Renames a device, as when it is connected again under a new number.
    func rename(_ id: String, to other: String) throws {
        guard Glibc.rename("\(devices)/\(id)", "\(devices)/\(other)") == 0 else { throw FileError(reason: id) }
    }

    /// Empties an attribute, as if the device were gone.
    func empty(_ id: String, _ name: String) { truncate("\(devices)/\(id)/\(name)", 0) }

    /// Removes the character device of a device.
    func removeNode(_ id: String) throws {
        guard unlink("\(dev)/\(id)") == 0 else { throw FileError(reason: "\(id): \(String(cString: strerror(errno)))") }
    }

    /// Creates the character device of a device.
    func makeNode(_ id: String) throws -> ScanWriter {
        let path = "\(dev)/\(id)"
        unlink(path)
        guard mkfifo(path, 0o600) == 0 else { throw FileError(reason: "\(path): \(String(cString: strerror(errno)))") }
        return try ScanWriter(path)
    }
}

/// The writing end of a fake character device.
final class ScanWriter: Sendable {
    private let descriptor: Int32
    private let hasEnded = Atomic(false)

    init(_ path: String) throws {
        // Opened for reading and writing, so that opening does not block and a reader does not see an early end of
        // file.
        descriptor = open(path, O_RDWR | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileError(reason: "\(path): \(String(cString: strerror(errno)))") }
    }

    deinit { end() }

    /// Closes the device, so that its readers reach the end of the file.
    func end() { if !hasEnded.exchange(true, ordering: .relaxed) { close(descriptor) } }

    /// Writes raw bytes.
    func write(_ bytes: [UInt8]) throws {
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw FileError(reason: "scan: \(String(cString: strerror(errno)))")
        }
    }

    /// Writes a scan of three 16-bit values and a timestamp, given in µs of the boot clock.
    func writeScan(_ x: Int16, _ y: Int16, _ z: Int16, at boot: Int64) throws {
        try write(bytes(x) + bytes(y) + bytes(z) + [0, 0] + bytes(boot * 1000))
    }
}

/// Returns the little-endian bytes of a number.
func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }

/// Passes an empty tree to `body` and removes it afterwards.
func withFakeIIO<Result>(_ body: (FakeIIO) async throws -> Result) async throws -> Result {
    let fake = try FakeIIO()
    defer { try? FileManager.default.removeItem(atPath: fake.folder) }
    return try await body(fake)
}

/// Passes a tree with a buffered accelerometer, `iio:device0`, to `body`, while a source reads its enabled buffer.
func withBufferedAccelerometer<Result: Sendable>(
    requesting rate: Double? = nil, _ body: (FakeIIO, ScanWriter, IIOSource, RecordingSink) async throws -> Result
) async throws -> Result {
    try await withFakeIIO { fake in
        try fake.addBuffered(["accel"])
        let writer = try fake.makeNode("iio:device0")
        defer { writer.end() }
        let source = fake.source
        if let rate { source.setRates([.accelerometer: rate]) }
        return try await withRunning(source) { sink in
            try await fake.wait("iio:device0", "buffer/enable", for: "1")
            return try await body(fake, writer, source, sink)
        }
    }
}

extension FakeIIO {
    /// Adds a polled accelerometer with 1 m/s² per count.
    func addPolledAccelerometer(_ id: String = "iio:device0", name: String = "lis3dh") throws {
        try add(
            id,
            [
                "name": name, "in_accel_x_raw": "1", "in_accel_y_raw": "2", "in_accel_z_raw": "10",
                "in_accel_scale": "0.980665",
            ])
    }

    /// Adds a device with a buffer: three 16-bit axes per quantity and a timestamp, all disabled.
    func addBuffered(
        _ quantities: [String], _ id: String = "iio:device0", name: String = "bmi160", more: [String: String] = [:]
    ) throws {
        var attributes = [
            "name": name, "buffer/enable": "0", "buffer/length": "2", "buffer/watermark": "1",
            "trigger/current_trigger": "\(name)-dev0", "current_timestamp_clock": "realtime",
            "sampling_frequency": "25", "sampling_frequency_available": "25 50 100 200",
            "scan_elements/in_timestamp_en": "0", "scan_elements/in_timestamp_index": "\(3 * quantities.count)",
            "scan_elements/in_timestamp_type": "le:s64/64>>0",
        ]
        for (number, quantity) in quantities.enumerated() {
            attributes["in_\(quantity)_scale"] = "0.001"
            for (axis, letter) in ["x", "y", "z"].enumerated() {
                let element = "scan_elements/in_\(quantity)_\(letter)"
                attributes["in_\(quantity)_\(letter)_raw"] = "\(axis + 1)"
                attributes[element + "_en"] = "0"
                attributes[element + "_index"] = "\(3 * number + axis)"
                attributes[element + "_type"] = "le:s16/16>>0"
            }
        }
        try add(id, attributes.merging(more) { $1 })
    }
}
