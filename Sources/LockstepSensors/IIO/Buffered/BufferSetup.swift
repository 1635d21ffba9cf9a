import Glibc
import LockstepModel

/// Sets up a device's buffer, and takes it down: attributes only.
struct BufferSetup {
    let device: IIODevice
    let sensors: [IIOSensor]
    let triggers: [String]
    /// The triggers that there are, by name.
    let triggerFolders: [(name: String, folder: AttributeFolder)]
    /// How long scans gather before the reader is woken, in µs.
    let linger: Int64

    /// What came of it.
    struct Result {
        var layout: ScanLayout
        var clock: ScanStamper.Clock
        /// Samples a second that there will be; nil where nobody knows.
        var rate: Double?
        /// What is to be said of each stream.
        var notes: [SensorStream: [String]]
    }

    /// Everything but switching on.
    /// - Parameter rates: samples a second that are wanted of each stream.
    func configure(_ rates: [SensorStream: Double]) throws(IIOError) -> Result {
        // What an agent that was killed has left on; nothing can be changed before.
        try device.folder.write("buffer/enable", "0")
        let clock = setClock()
        try chooseElements()
        let layout = try ScanLayout(enabledElements())
        for sensor in sensors {
            for axis in IIOQuantity.axes where layout["\(sensor.quantity.rawValue)_\(axis)"] == nil {
                throw IIOError(
                    "\(device.label) does not let \(sensor.quantity.prefix)_\(axis) be read in its buffer",
                    isAboutBuffer: true)
            }
        }
        try setTrigger()
        var notes: [SensorStream: [String]] = [:]
        var fastest: Double?
        for sensor in sensors {
            guard let control = sensor.rate, let wanted = rates[sensor.quantity.stream] else { continue }
            let shared = sensors.fastest(setBy: control) { rates[$0.quantity.stream].map(control.resolved) }
            let (rate, note) = control.set(shared ?? control.resolved(wanted))
            fastest = [fastest, rate].compactMap { $0 }.max()
            if let note { notes[sensor.quantity.stream, default: []].append(note) }
        }
        if let control = timer {
            let (rate, note) = control.set(pace(rates, measured: fastest))
            fastest = rate ?? fastest
            if let note { for sensor in sensors { notes[sensor.quantity.stream, default: []].append(note) } }
        }
        let isTimed = layout["timestamp"] != nil
        setSize(rate: fastest)
        return Result(
            layout: layout, clock: isTimed ? clock : .arrival("stamped on arrival, because it tells no times"),
            rate: fastest, notes: notes)
    }

    func enable() throws(IIOError) { try device.folder.write("buffer/enable", "1") }

    /// Best effort: a device that is gone has no buffer to switch off.
    func disable() { try? device.folder.write("buffer/enable", "0") }

    /// - Throws: ``IIOError`` if the buffer has gone, or was switched off by someone else.
    func checkIsOn() throws(IIOError) {
        guard let state = device.folder.text("buffer/enable") else {
            throw IIOError("\(device.folder["buffer/enable"]) has gone: the sensor is gone")
        }
        guard state == "1" else {
            throw IIOError("its buffer was switched off: stop the other program that uses the sensor")
        }
    }

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

    /// Switches on the axes that are wanted and the timestamp, everything else off.
    private func chooseElements() throws(IIOError) {
        let wanted = sensors.flatMap { sensor in IIOQuantity.axes.map { "\(sensor.quantity.prefix)_\($0)_en" } }
        let scan = AttributeFolder(device.folder["scan_elements"])
        let all = scan.names.filter { $0.hasSuffix("_en") }.sorted()
        for name in all where name != "in_timestamp_en" && !wanted.contains(name) && scan.text(name) != "0" {
            try scan.write(name, "0")
        }
        for name in wanted { try scan.write(name, "1") }
        if all.contains("in_timestamp_en") { try scan.write("in_timestamp_en", "1") }
    }

    /// What is switched on in the end: a driver may insist on more than was asked.
    private func enabledElements() throws(IIOError) -> [ScanLayout.Element] {
        let scan = AttributeFolder(device.folder["scan_elements"])
        var elements: [ScanLayout.Element] = []
        for file in scan.names where file.hasPrefix("in_") && file.hasSuffix("_en") {
            guard scan.text(file) == "1" else { continue }
            let name = String(file.dropFirst(3).dropLast(3))
            let index = try scan.read("in_\(name)_index")
            let type = try scan.read("in_\(name)_type")
            guard let index = Int(index), let type = ScanType(type) else {
                throw IIOError(
                    "\(scan.path): in_\(name) has the index '\(index)' and the type '\(type)', which mean nothing",
                    isAboutBuffer: true)
            }
            elements.append(ScanLayout.Element(name: name, index: index, type: type))
        }
        return elements
    }

    private func setTrigger() throws(IIOError) {
        let file = "trigger/current_trigger"
        guard device.folder.contains(file), device.folder.text(file) ?? "" == "" else { return }
        var refusal = IIOError("\(device.label) has no trigger for its buffer", isAboutBuffer: true)
        for trigger in triggers {
            do throws(IIOError) { return try device.folder.write(file, trigger) } catch { refusal = error }
        }
        throw refusal
    }

    /// The rate of the trigger in force; nil where it has none, because the device fires it.
    private var timer: RateControl? {
        guard let name = device.folder.text("trigger/current_trigger"),
            let folder = triggerFolders.first(where: { $0.name == name })?.folder,
            folder.contains("sampling_frequency")
        else { return nil }
        return RateControl(
            folder: folder, file: "sampling_frequency",
            available: folder.text("sampling_frequency_available").flatMap { SamplingRates($0) })
    }

    /// How often to take a scan of a device that measures `measured` times a second: not more often than is wanted,
    /// nor than there is something new.
    private func pace(_ rates: [SensorStream: Double], measured: Double?) -> Double {
        let wanted = sensors.compactMap { sensor -> Double? in
            guard let wanted = rates[sensor.quantity.stream] else { return nil }
            return sensor.rate?.resolved(wanted) ?? (wanted.isFinite ? wanted : RateControl.usual)
        }
        return min(wanted.max() ?? RateControl.usual, measured ?? .infinity)
    }

    /// A buffer whose depth is fixed refuses, and works all the same.
    private func setSize(rate: Double?) {
        let size = BufferSize(
            rate: rate, linger: linger,
            chipScans: device.folder.text("buffer/hwfifo_watermark_max").flatMap { Int($0) })
        try? device.folder.write("buffer/length", "\(size.length)")
        let length = device.folder.text("buffer/length").flatMap { Int($0) } ?? size.length
        try? device.folder.write("buffer/watermark", "\(size.watermark(of: length))")
    }
}
