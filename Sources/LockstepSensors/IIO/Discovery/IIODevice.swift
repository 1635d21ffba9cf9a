package import LockstepModel

/// A device of the Industrial I/O subsystem, as it was found.
package struct IIODevice: Sendable, Hashable {
    /// `iio:device0`.
    package let id: String
    /// What the driver or the board calls it: `bmi160`.
    package let name: String
    /// Its folder in sysfs.
    package let folder: AttributeFolder
    /// Its character device: `/dev/iio:device0`.
    package let node: String
    /// What it measures along three axes.
    package let sensors: [IIOSensor]
    package let stepCounter: IIOStepCounter?

    /// `iio:device0 (bmi160)`.
    package var label: String { name == id ? id : "\(id) (\(name))" }
}

/// One quantity that a device measures along three axes.
package struct IIOSensor: Sendable, Hashable {
    package let quantity: IIOQuantity
    package let conversion: UnitConversion
    /// How its rate is set; nil where it has a pace of its own.
    package let rate: RateControl?
    package private(set) var access: IIOAccess
    /// The least and the greatest count; nil where nobody knows.
    package let range: ClosedRange<Double>?
    /// Why it can't be used; nil where it can.
    package let problem: String?

    func with(access: IIOAccess) -> IIOSensor {
        var sensor = self
        sensor.access = access
        return sensor
    }
}

/// A hardware step counter.
package struct IIOStepCounter: Sendable, Hashable {
    /// Why it can't be used; nil where it can.
    package let problem: String?
}

/// How a sensor is read.
package enum IIOAccess: Sendable, Hashable {
    /// Whole scans from the character device; `triggers` are those that could start them, best first, none where the
    /// device starts them itself.
    case buffered(triggers: [String])
    /// One attribute after the other, `files` of x, y and z; `note` says why not better, where that could be helped.
    case polled(files: [String], note: String?)

    var isBuffered: Bool {
        if case .buffered = self { return true }
        return false
    }
}

/// The attribute that sets a sensor's rate.
package struct RateControl: Sendable, Hashable {
    package let folder: AttributeFolder
    package let file: String
    /// What it can be set to; nil where nobody says.
    package let available: SamplingRates?

    /// Samples a second as it is set now.
    package var current: Double? { folder.text(file).flatMap { Double($0) }.flatMap { $0 > 0 ? $0 : nil } }
}

extension IIODevice {
    /// What can be read of it now.
    package var usableStreams: [SensorStream] {
        sensors.filter { $0.problem == nil }.map(\.quantity.stream)
            + (stepCounter.map { $0.problem == nil ? [.steps] : [] } ?? [])
    }
}
