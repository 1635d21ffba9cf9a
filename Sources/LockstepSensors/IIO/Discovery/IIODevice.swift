package import LockstepModel

/// A device of the Industrial I/O subsystem, as found in sysfs.
package struct IIODevice: Sendable, Hashable {
    /// The name in sysfs, such as `iio:device0`.
    package let id: String
    /// The name given by the driver or the board, such as `bmi160`.
    package let name: String
    /// Where it is mounted.
    package let placement: IIOPlacement
    /// The folder in sysfs.
    package let folder: AttributeFolder
    /// The path of the character device, such as `/dev/iio:device0`.
    package let node: String
    /// The quantities that it measures.
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

    /// Returns a copy with another access method.
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
