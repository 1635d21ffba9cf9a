import Glibc
import LockstepModel

/// Configures, enables and disables a device's buffer through its attributes.
struct BufferSetup {
    let device: IIODevice
    let buffer: IIOBuffer
    let sensors: [IIOSensor]
    /// The names of candidate triggers, best first.
    let triggers: [String]
    let triggerFolders: [(name: String, folder: AttributeFolder)]
    /// The time for which scans are collected before the reader is woken, in µs.
    let linger: Int64

    /// The configuration in effect.
    struct Result {
        /// The positions of the values in a scan.
        var layout: ScanLayout
        var clock: ScanStamper.Clock
        /// The rate of scans in 1/s; nil if unknown.
        var rate: Double?
        /// Limitations to report, for each stream.
        var notes: [SensorStream: [String]]
    }

    /// Configures clock, channels, trigger, rates and size, and leaves the buffer disabled.
    /// - Parameter rates: The requested rates in samples/s.
    /// - Throws: ``IIOError`` if the device is gone or refuses a setting.
    func configure(_ rates: [SensorStream: Double]) throws(IIOError) -> Result {
        // A killed agent leaves its buffer enabled, and an enabled buffer cannot be configured.
        try buffer.controls.write("enable", "0")
        let clock = setClock()
        try chooseElements()
        let layout = try ScanLayout(enabledElements())
        for sensor in sensors {
            for channel in sensor.quantity.channels where layout[channel] == nil {
                throw IIOError("\(device.label) does not offer in_\(channel) in its buffer", isBufferProblem: true)
            }
        }
        try setTrigger()
        var notes = Dictionary(
            uniqueKeysWithValues: sensors.compactMap { sensor in sensor.warning.map { (sensor.quantity.stream, [$0]) } }
        )
        var fastest: Double?
        for sensor in sensors {
            guard let control = sensor.rate, rates[sensor.quantity.stream] != nil else { continue }
            let shared = sensors.fastest(setBy: control) { other in
                rates[other.quantity.stream].map { control.resolved($0, default: other.quantity.defaultRate) }
            }
            guard let shared else { continue }
            let (rate, note) = control.set(shared)
            fastest = [fastest, rate].compactMap { $0 }.max()
            if let note { notes[sensor.quantity.stream, default: []].append(note) }
        }
        if let control = timer {
            let (rate, note) = control.set(scanRate(rates, measured: fastest))
            fastest = rate ?? fastest
            if let note { for sensor in sensors { notes[sensor.quantity.stream, default: []].append(note) } }
        }
        let isTimed = layout["timestamp"] != nil
        setSize(rate: fastest)
        return Result(
            layout: layout,
            clock: isTimed ? clock : .arrival("stamped on arrival, because the scans have no timestamps"),
            rate: fastest, notes: notes)
    }

    /// - Throws: ``IIOError`` if the driver refuses the configuration.
    func enable() throws(IIOError) { try buffer.controls.write("enable", "1") }

    /// Disables the buffer if the device still exists.
    func disable() { try? buffer.controls.write("enable", "0") }

    /// - Throws: ``IIOError`` if the device is gone or another program disabled its buffer.
    func checkIsEnabled() throws(IIOError) {
        guard let state = buffer.controls.text("enable") else {
            throw IIOError("the sensor is gone: \(buffer.controls["enable"]) no longer exists")
        }
        guard state == "1" else {
            throw IIOError("another program disabled the sensor's buffer; stop that program")
        }
    }

    /// Selects the boot clock if possible, otherwise the monotonic clock, and returns the clock in effect.
    private func setClock() -> ScanStamper.Clock {
        let file = "current_timestamp_clock"
        let folder = device.folder
        guard let current = folder.text(file) else { return ScanStamper.Clock(named: "realtime") }
        for name in ["boottime", "monotonic"] {
            if name == current { break }
            do throws(IIOError) { try folder.write(file, name) } catch { continue }
            break
        }
        return ScanStamper.Clock(named: folder.text(file) ?? current)
    }

    /// Enables the requested channels and the timestamp, and disables all other elements.
    private func chooseElements() throws(IIOError) {
        let requested = sensors.flatMap { sensor in sensor.quantity.channels.map { "in_\($0)_en" } }
        let scan = buffer.elements
        let all = scan.names.filter { $0.hasSuffix("_en") }.sorted()
        for name in all where name != "in_timestamp_en" && !requested.contains(name) && scan.text(name) != "0" {
            try scan.write(name, "0")
        }
        for name in requested { try scan.write(name, "1") }
        if all.contains("in_timestamp_en") { try scan.write("in_timestamp_en", "1") }
    }

    /// Returns the elements that are actually enabled. A driver may enable more than requested.
    private func enabledElements() throws(IIOError) -> [ScanLayout.Element] {
        let scan = buffer.elements
        var elements: [ScanLayout.Element] = []
        for file in scan.names where file.hasPrefix("in_") && file.hasSuffix("_en") {
            guard scan.text(file) == "1" else { continue }
            let name = String(file.dropFirst(3).dropLast(3))
            let index = try scan.read("in_\(name)_index")
            let type = try scan.read("in_\(name)_type")
            guard let index = Int(index), let type = ScanType(type) else {
                throw IIOError(
                    "\(scan.path): in_\(name) has an invalid index '\(index)' or type '\(type)'",
                    isBufferProblem: true)
            }
            elements.append(ScanLayout.Element(name: name, index: index, type: type))
        }
        return elements
    }

    /// Sets the first candidate trigger that the device accepts, unless a trigger is set already.
    private func setTrigger() throws(IIOError) {
        let file = "trigger/current_trigger"
        guard device.folder.contains(file), device.folder.text(file) ?? "" == "" else { return }
        var refusal = IIOError("\(device.label) has no trigger for its buffer", isBufferProblem: true)
        for trigger in triggers {
            do throws(IIOError) { return try device.folder.write(file, trigger) } catch { refusal = error }
        }
        throw refusal
    }

    /// The rate control of the current trigger; nil if the device itself fires the trigger.
    private var timer: RateControl? {
        guard let name = device.folder.text("trigger/current_trigger"),
            let folder = triggerFolders.first(where: { $0.name == name })?.folder,
            folder.contains("sampling_frequency")
        else { return nil }
        return RateControl(
            folder: folder, file: "sampling_frequency",
            available: folder.text("sampling_frequency_available").flatMap { SamplingRates($0) })
    }

    /// Returns the rate of scans in 1/s: as requested, but not faster than the device measures.
    private func scanRate(_ rates: [SensorStream: Double], measured: Double?) -> Double {
        let requested = sensors.compactMap { sensor -> Double? in
            guard let rate = rates[sensor.quantity.stream] else { return nil }
            let standard = sensor.quantity.defaultRate
            return sensor.rate?.resolved(rate, default: standard) ?? (rate.isFinite ? rate : standard)
        }
        return min(requested.max() ?? RateControl.defaultRate, measured ?? .infinity)
    }

    /// Sets length and watermark. A buffer of fixed length refuses the length, which is harmless: the watermark follows
    /// from the actual length.
    private func setSize(rate: Double?) {
        let size = BufferSize(
            rate: rate, linger: linger,
            chipScans: buffer.controls.text("hwfifo_watermark_max").flatMap { Int($0) })
        try? buffer.controls.write("length", "\(size.length)")
        let length = buffer.controls.text("length").flatMap { Int($0) } ?? size.length
        try? buffer.controls.write("watermark", "\(size.watermark(of: length))")
    }
}

/// The length and the watermark of a device's buffer, in scans.
package struct BufferSize: Sendable, Hashable {
    /// The time in s for which the buffer can hold scans that are not read.
    private static let depth = 2.0
    /// The smallest and largest length.
    private static let lengths = 16...8192

    /// The requested length.
    package let length: Int
    /// The number of scans that arrive within the linger, limited to half of the chip's FIFO.
    private let scansPerLinger: Int

    /// - Parameters:
    ///   - rate: The rate of scans in 1/s; nil if unknown.
    ///   - linger: How long scans are collected before the reader is woken, in µs.
    ///   - chipScans: The capacity of the chip's own FIFO; nil if it has none.
    package init(rate: Double?, linger: Int64, chipScans: Int? = nil) {
        let scanRate = min(rate ?? RateControl.defaultRate, 1e6)
        // If the rate is unknown, each scan wakes the reader, because waiting for several could take long.
        let scansPerLinger =
            rate == nil ? 1 : Int(min(scanRate * Double(linger) / 1e6, Double(Self.lengths.upperBound)))
        length = min(
            max(2 * scansPerLinger, Int(scanRate * Self.depth), Self.lengths.lowerBound), Self.lengths.upperBound)
        // A full FIFO drops scans or is cleared: the other half is reserved for a late reader.
        self.scansPerLinger = min(scansPerLinger, (chipScans ?? .max) / 2)
    }

    /// Returns the number of scans after which the reader is woken: at most half of the length, so that the buffer does
    /// not overflow while the reader wakes up.
    /// - Parameter length: The actual length in scans, which may be fixed by the driver.
    package func watermark(of length: Int) -> Int { max(1, min(scansPerLinger, length / 2)) }
}

/// An open buffer of a device. The descriptor is closed when the object is deallocated.
final class DeviceFile: Sendable {
    /// The size of one read in bytes.
    private static let maxReadSize = 65_536

    let descriptor: Int32
    private let path: String

    /// Opens a buffer of the character device `node`.
    /// - Throws: ``IIOError`` that names the file.
    init(_ opener: BufferOpener, _ node: String, _ buffer: IIOBuffer) throws(IIOError) {
        path = node
        descriptor = try opener.open(node, buffer)
    }

    deinit { close(descriptor) }

    /// Returns the bytes available now, possibly none.
    /// - Throws: ``IIOError`` if the device is gone.
    func read() throws(IIOError) -> [UInt8] {
        var count = 0
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.maxReadSize) { buffer, filled in
            repeat {
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            } while count < 0 && errno == EINTR
            code = count < 0 ? errno : 0
            filled = max(0, count)
        }
        if count < 0, code == EAGAIN { return [] }
        if count < 0 { throw IIOError(path: path, errno: code) }
        if count == 0 { throw IIOError("the sensor is gone: \(path) has ended") }
        return bytes
    }
}
