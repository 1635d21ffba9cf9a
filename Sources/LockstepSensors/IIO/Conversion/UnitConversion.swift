import Glibc
import LockstepMotion

/// Converts the raw values of a sensor to the units of the streams along the device axes.
///
/// A scalar sensor uses only the first component of the vectors.
package struct UnitConversion: Sendable, Hashable {
    /// The kernel's unit per count, for each channel.
    package let scale: SIMD3<Double>
    /// The counts to add before scaling.
    package let offset: SIMD3<Double>
    /// nil where the mounting is unknown.
    package let mount: MountMatrix?
    /// Our unit per kernel unit.
    package let factor: Double
    /// The number of channels: 1 or 3.
    private let channelCount: Int

    /// The resolution of the values is a tenth of a count: more decimals only enlarge every payload.
    private let decimals: Int

    /// Processed values have up to nine decimals, and the size of a count is unknown.
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

    /// Returns (raw + offset) × scale, rotated by the mount matrix, in the unit of the stream: one value per channel.
    package func values(of raw: SIMD3<Double>) -> [Double] {
        let native = (raw + offset) * scale
        let rotated = (mount?.apply(native) ?? native) * factor
        return (0..<channelCount).map { resolved(rotated[$0], decimals: decimals) }
    }
}
