package import LockstepModel
import LockstepMotion

/// A quantity of the Industrial I/O subsystem that Lockstep reads, with its stream, channels and unit.
///
/// The raw value is the channel type in the names of the kernel's attributes (`in_accel_x_raw`).
package enum IIOQuantity: String, Sendable, CaseIterable {
    case acceleration = "accel"
    case rotation = "anglvel"
    case field = "magn"
    case pressure = "pressure"

    /// The stream that the quantity provides.
    package var stream: SensorStream {
        switch self {
        case .acceleration: .accelerometer
        case .rotation: .gyroscope
        case .field: .magnetometer
        case .pressure: .pressure
        }
    }

    /// The factor from the kernel's unit to the stream's unit (`Documentation/ABI/testing/sysfs-bus-iio`).
    ///
    /// Acceleration: the kernel has m/s² of specific force, +9.8 upward at rest; the stream has g, -1 upward at rest.
    /// Rotation: rad/s in both. Field: gauss, 100 µT each. Pressure: kPa, 10 hPa each.
    package var factor: Double {
        switch self {
        case .acceleration: -1 / standardGravity
        case .rotation: 1
        case .field: 100
        case .pressure: 10
        }
    }

    /// The native rate in samples/s where the device leaves the choice: moderate, because some sensors go up to thousands.
    package var defaultRate: Double { self == .pressure ? 1 : 100 }

    /// The native rate in samples/s of a polled sensor, where each value costs a bus transfer.
    package var defaultPollingRate: Double { self == .pressure ? 1 : 50 }

    /// The names of the channels: `accel_x`, `accel_y`, `accel_z`; `pressure`.
    package var channels: [String] {
        self == .pressure ? [rawValue] : Self.axes.map { "\(rawValue)_\($0)" }
    }

    /// The names of the channels for users: `x`, `y`, `z`; `pressure`.
    package var channelLabels: [String] { self == .pressure ? [rawValue] : Self.axes }

    /// The prefix of attributes that all channels share: `in_accel`.
    package var prefix: String { "in_\(rawValue)" }

    /// Whether 0 on all channels is a plausible measurement: of a gyroscope at rest it is.
    var canBeZero: Bool { self == .rotation }

    private static let axes = ["x", "y", "z"]
}
