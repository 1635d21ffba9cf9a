package import LockstepModel

/// A device of the Industrial I/O subsystem, as found in sysfs.
package struct IIODevice: Sendable, Hashable {
    /// The name in sysfs, such as `iio:device0`.
    package let id: String
    /// The name given by the driver or the board, such as `bmi160`.
    package let name: String
    package let placement: IIOPlacement
    package let folder: AttributeFolder
    /// The path of the character device, such as `/dev/iio:device0`.
    package let node: String
    package let sensors: [IIOSensor]
    /// The hardware step counter; nil if there is none.
    package let stepCounter: IIOStepCounter?

    /// The name of the device for users, such as `iio:device0 (bmi160)`.
    package var label: String { name == id ? id : "\(id) (\(name))" }

    /// Returns whether a user may mean this device by `text`.
    package func isNamed(_ text: String) -> Bool {
        [id, name, placement.label, placement.location].contains(text)
    }
}

/// One quantity that a device measures.
package struct IIOSensor: Sendable, Hashable {
    package let quantity: IIOQuantity
    package let conversion: UnitConversion
    /// The attribute that sets the rate; nil if the rate is fixed.
    package let rate: RateControl?
    package private(set) var access: IIOAccess
    /// The smallest and largest raw value; nil if unknown.
    package let range: ClosedRange<Double>?
    /// Why the sensor cannot be used; nil if it can.
    package let problem: String?
    /// Why the values may be wrong; nil if nothing is known.
    package let warning: String?
    /// Whether ``problem`` is only a lack of access, which udev may still grant.
    package let awaitsAccess: Bool

    func with(access: IIOAccess) -> IIOSensor {
        var sensor = self
        sensor.access = access
        return sensor
    }
}

/// A hardware step counter.
package struct IIOStepCounter: Sendable, Hashable {
    /// Why the step counter cannot be used; nil if it can.
    package let problem: String?
}

/// How a sensor is read.
package enum IIOAccess: Sendable, Hashable {
    /// Whole scans from a buffer. `triggers` are candidates, best first; empty if the device needs none.
    case buffered(IIOBuffer, triggers: [String])
    /// One attribute per channel. `note` states why the buffer `blocked` is not used, if that can change while the
    /// device is connected: access rights or a trigger are missing.
    case polled(files: [String], note: String?, blocked: IIOBuffer?)

    /// The buffer; nil for a polled sensor.
    var buffer: IIOBuffer? {
        if case .buffered(let buffer, _) = self { return buffer }
        return nil
    }

    /// The buffer that a polled sensor could use if rights and triggers permitted it; nil if there is none.
    var blockedBuffer: IIOBuffer? {
        if case .polled(_, _, let blocked) = self { return blocked }
        return nil
    }

    /// Why the buffer is not used, if that can change.
    var note: String? {
        if case .polled(_, let note, _) = self { return note }
        return nil
    }
}

/// The attribute that sets a sensor's rate.
package struct RateControl: Sendable, Hashable {
    package let folder: AttributeFolder
    package let file: String
    /// The supported rates; nil if unknown.
    package let available: SamplingRates?

    /// The current rate in samples/s; nil if unknown.
    package var current: Double? { folder.text(file).flatMap { Double($0) }.flatMap { $0 > 0 ? $0 : nil } }
}

extension IIODevice {
    /// The streams that cannot be read now, but may become readable while the device is connected.
    package var blockedStreams: [SensorStream] {
        // The only problem of a step counter is a lack of rights.
        sensors.filter(\.awaitsAccess).map(\.quantity.stream) + (stepCounter?.problem == nil ? [] : [.steps])
    }

    /// The streams that can be read now without a warning.
    package var soundStreams: [SensorStream] {
        usableStreams.filter { stream in !sensors.contains { $0.quantity.stream == stream && $0.warning != nil } }
    }

    /// The streams that can be read now.
    package var usableStreams: [SensorStream] {
        sensors.filter { $0.problem == nil }.map(\.quantity.stream)
            + (stepCounter.map { $0.problem == nil ? [.steps] : [] } ?? [])
    }
}

/// The channels of a device that one session reads together: those of one buffer, all polled ones, or the step counter.
package struct IIOChannelGroup: Sendable, Hashable {
    /// How the channels are read.
    package enum Kind: Sendable, Hashable {
        /// The channels of the buffer with this number, also while they are polled because it is not accessible.
        case buffered(Int)
        /// The channels without a buffer.
        case polled
        /// The hardware step counter.
        case steps
    }

    package let deviceID: String
    package let deviceName: String
    package let placement: IIOPlacement
    package let kind: Kind
    package let streams: [SensorStream]
    /// The native rates at discovery, in samples/s: of the buffer, if the channels have one. Later the device reports
    /// the rate that was set last.
    package let nativeRates: [SensorStream: Double]

    /// The name of the device for users, such as `iio:device0 (bmi160)`.
    package var label: String { deviceName == deviceID ? deviceID : "\(deviceID) (\(deviceName))" }

    /// Returns the requested rates with infinite rates replaced by native rates.
    func resolved(_ requested: [SensorStream: Double]) -> [SensorStream: Double] {
        requested.reduce(into: [:]) { $0[$1.key] = $1.value.isFinite ? $1.value : nativeRates[$1.key] ?? $1.value }
    }

    /// Finds the device again: by number, name and place, otherwise by name and place, because a reconnected device gets
    /// a new number.
    /// - Parameter others: Devices of the same name that existed beside this one and are never its replacement.
    /// - Throws: ``IIOError`` if there is no such device, or it does not provide the streams any more.
    package func find(in tree: IIOTree, except others: Set<String>) throws(IIOError) -> IIODevice {
        let devices = tree.devices().filter {
            ($0.name == deviceName || $0.id == deviceName) && $0.placement == placement
        }
        guard
            let device = devices.first(where: { $0.id == deviceID })
                ?? devices.first(where: { !others.contains($0.id) })
        else {
            throw IIOError("the sensor is not in \(tree.folder.path) any more; connect it again or load its driver")
        }
        guard streams.contains(where: device.usableStreams.contains) else {
            let problems = device.sensors.compactMap(\.problem) + [device.stepCounter?.problem].compactMap { $0 }
            let names = streams.map(\.name).joined(separator: ", ")
            throw IIOError(problems.first ?? "the sensor does not provide \(names) any more")
        }
        return device
    }
}

/// A buffer of a device, which delivers whole scans.
///
/// Since Linux 5.11 a device can have several buffers, each with a folder `bufferN` that holds both its controls and
/// its scan elements. The older folders `buffer` and `scan_elements` belong to the first buffer.
package struct IIOBuffer: Sendable, Hashable {
    /// The number of the buffer, from 0.
    package let index: Int
    /// The folder with `enable`, `length` and `watermark`.
    package let controls: AttributeFolder
    /// The folder of the scan elements, such as `in_accel_x_en`.
    package let elements: AttributeFolder
    /// Whether the device has other buffers.
    package private(set) var isOneOfSeveral = false

    var isUsable: Bool { controls.contains("enable") }

    /// Returns the buffers of a device in the order of their numbers.
    static func all(of device: AttributeFolder) -> [IIOBuffer] {
        let numbered = device.numbered("buffer").map { number, name in
            let folder = AttributeFolder(device[name])
            return IIOBuffer(index: number, controls: folder, elements: folder)
        }
        let hasOldFolders = device.contains("scan_elements") || device.contains("buffer")
        let first = IIOBuffer(
            index: 0, controls: AttributeFolder(device["buffer"]), elements: AttributeFolder(device["scan_elements"]))
        let all = hasOldFolders ? [first] + numbered.filter { $0.index > 0 } : numbered
        return all.map { buffer in
            var buffer = buffer
            buffer.isOneOfSeveral = all.count > 1
            return buffer
        }
    }
}

/// Where a device is mounted, as firmware or board state it. Convertibles have a sensor in the display and one in the
/// base.
package struct IIOPlacement: Sendable, Hashable {
    /// The attribute `label`, such as `accel-display`.
    package let label: String?
    /// The attribute `location`, such as `lid`, or udev's property `ACCEL_LOCATION`, such as `display`.
    package let location: String?

    init(_ folder: AttributeFolder, _ udev: UdevProperties) {
        label = folder.text("label").flatMap { $0.isEmpty ? nil : $0 }
        let texts = [folder.text("location"), udev["ACCEL_LOCATION"]]
        location = texts.lazy.compactMap { $0 }.first { !$0.isEmpty }
    }

    /// The order in which devices are preferred: 0 in the display, 1 if unknown, 2 in the base. A device's orientation is
    /// that of its display.
    package var rank: Int {
        // Labels end with the place: accel-display, gyro-base.
        let words = [label, location].compactMap { $0?.split(separator: "-").last }
        if words.contains("display") || words.contains("lid") { return 0 }
        return words.contains("base") ? 2 : 1
    }
}
