import Glibc
package import LockstepModel
import LockstepMotion

/// Converts the raw values of a sensor to Lockstep's units along the device axes.
///
/// A scalar sensor uses only the first component of the vectors.
package struct UnitConversion: Sendable, Hashable {
    /// The kernel's unit per count, for each channel.
    package let scale: SIMD3<Double>
    /// The counts to add before scaling.
    package let offset: SIMD3<Double>
    /// The rotation from sensor axes to device axes; nil if the mounting is unknown.
    package let mount: MountMatrix?
    /// The factor from the kernel's unit to Lockstep's.
    package let factor: Double
    /// The number of channels: 1 or 3.
    private let channelCount: Int

    /// The number of decimals, for a resolution of a tenth of a count: more decimals would only enlarge the payloads.
    private let decimals: Int

    /// The number of decimals of processed values, for which the size of a count is unknown: the kernel's maximum.
    private static let processedDecimals = 9

    /// - Parameters:
    ///   - channelCount: 1 or 3.
    ///   - isProcessed: Whether the values are in the kernel's unit already instead of counts.
    package init(
        scale: SIMD3<Double>, offset: SIMD3<Double>, mount: MountMatrix?, factor: Double, channelCount: Int = 3,
        isProcessed: Bool = false
    ) {
        self.scale = scale
        self.offset = offset
        self.mount = mount
        self.factor = factor
        self.channelCount = channelCount
        let finest = (0..<channelCount).map { abs(scale[$0] * factor) }.min() ?? 1
        decimals =
            isProcessed
            ? Self.processedDecimals : min(max(4, Int((-log10(max(finest, 1e-12))).rounded(.up)) + 1), 12)
    }

    /// Returns (raw + offset) × scale, rotated by the mount matrix, in Lockstep's unit: one value per channel.
    package func values(of raw: SIMD3<Double>) -> [Double] {
        let native = (raw + offset) * scale
        let rotated = (mount?.apply(native) ?? native) * factor
        return (0..<channelCount).map { resolved(rotated[$0], decimals: decimals) }
    }
}

/// A quantity of the Industrial I/O subsystem that Lockstep reads, with its stream, channels and unit.
///
/// The raw value is the channel type in the names of the kernel's attributes (`in_accel_x_raw`).
package enum IIOQuantity: String, Sendable, CaseIterable {
    case acceleration = "accel"
    case rotation = "anglvel"
    case field = "magn"
    case pressure = "pressure"

    package var stream: SensorStream {
        switch self {
        case .acceleration: .accelerometer
        case .rotation: .gyroscope
        case .field: .magnetometer
        case .pressure: .pressure
        }
    }

    /// The factor from the kernel's unit (`Documentation/ABI/testing/sysfs-bus-iio`) to Lockstep's.
    ///
    /// Acceleration: from m/s² of specific force, +9.8 upward at rest, to g, -1 upward at rest. Rotation: rad/s in
    /// both. Field: from gauss to µT (100 each). Pressure: from kPa to hPa (10 each).
    package var factor: Double {
        switch self {
        case .acceleration: -1 / standardGravity
        case .rotation: 1
        case .field: 100
        case .pressure: 10
        }
    }

    /// The native rate in samples/s of a device with selectable rates: moderate, because some devices support
    /// thousands.
    package var defaultRate: Double { self == .pressure ? 1 : 100 }

    /// The native rate in samples/s of a polled sensor, for which each value costs a bus transfer.
    package var defaultPollingRate: Double { self == .pressure ? 1 : 50 }

    /// The kernel's names of the channels: `accel_x`, `accel_y`, `accel_z`; `pressure`.
    package var channels: [String] {
        self == .pressure ? [rawValue] : Self.axes.map { "\(rawValue)_\($0)" }
    }

    /// The names of the channels for users: `x`, `y`, `z`; `pressure`.
    package var channelLabels: [String] { self == .pressure ? [rawValue] : Self.axes }

    /// The prefix of attributes that all channels share: `in_accel`.
    package var prefix: String { "in_\(rawValue)" }

    /// Whether 0 on all channels is a plausible measurement, as for a gyroscope at rest.
    var canBeZero: Bool { self == .rotation }

    private static let axes = ["x", "y", "z"]
}

/// The mounting of a sensor: the rotation from sensor axes to device axes.
package struct MountMatrix: Sendable, Hashable {
    /// The three rows.
    package let rows: [SIMD3<Double>]

    /// The tolerance of the rows' products, because device trees contain rounded sines and cosines.
    private static let tolerance = 0.01

    /// Parses a text such as `1, 0, 0; 0, 1, 0; 0, 0, 1`; the numbers of a row may also be separated by spaces alone.
    /// - Throws: ``IIOError`` if the text is not a 3 by 3 matrix, or its rows are not orthogonal unit vectors. A
    ///   determinant of -1 is accepted.
    package init(_ text: String) throws(IIOError) {
        let rows = text.split(separator: ";", omittingEmptySubsequences: false).map { row in
            row.contains(",")
                ? row.split(separator: ",", omittingEmptySubsequences: false).map { field in
                    Double(String(field.filter { !$0.isWhitespace })) ?? .nan
                } : row.split(whereSeparator: \.isWhitespace).map { Double(String($0)) ?? .nan }
        }
        guard rows.count == 3, rows.allSatisfy({ $0.count == 3 && $0.allSatisfy(\.isFinite) }) else {
            throw IIOError("'\(text)' is not a 3 by 3 matrix; \(Self.advice)")
        }
        self.rows = rows.map { SIMD3($0[0], $0[1], $0[2]) }
        for first in 0..<3 {
            for second in first..<3 {
                let product = (self.rows[first] * self.rows[second]).sum()
                guard abs(product - (first == second ? 1 : 0)) <= Self.tolerance else {
                    throw IIOError(
                        "'\(text)' is not a rotation (orthogonal rows of length 1); \(Self.advice)")
                }
            }
        }
    }

    private static let advice =
        "correct the sensor's mount-matrix in the device tree or the firmware tables, or set another one"

    /// Rotates a vector from sensor axes to device axes.
    package func apply(_ vector: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3((rows[0] * vector).sum(), (rows[1] * vector).sum(), (rows[2] * vector).sum())
    }

    /// The rows as arrays.
    package var numbers: [[Double]] { rows.map { [$0.x, $0.y, $0.z] } }
}
