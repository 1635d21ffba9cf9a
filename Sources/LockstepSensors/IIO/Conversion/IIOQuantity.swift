package import LockstepModel
import LockstepMotion

/// What the Industrial I/O subsystem measures along three axes, and what it is to us.
package enum IIOQuantity: String, Sendable, CaseIterable {
    case acceleration = "accel"
    case rotation = "anglvel"
    case field = "magn"

    /// The stream that it gives.
    package var stream: SensorStream {
        switch self {
        case .acceleration: .accelerometer
        case .rotation: .gyroscope
        case .field: .magnetometer
        }
    }

    /// What a value in the kernel's unit is multiplied with.
    ///
    /// The kernel gives m/s² of specific force, +9.8 upward at rest, where ours are g with -1 upward at rest; rad/s as
    /// ours; gauss of 100 µT.
    package var factor: Double {
        switch self {
        case .acceleration: -1 / standardGravity
        case .rotation: 1
        case .field: 100
        }
    }

    /// How its attributes begin: `in_accel`.
    package var prefix: String { "in_\(rawValue)" }

    /// How the attributes of axis `index` begin: `in_accel_x`.
    package func prefix(axis index: Int) -> String { "\(prefix)_\(Self.axes[index])" }

    /// The axes by name, in order.
    package static let axes = ["x", "y", "z"]
}
