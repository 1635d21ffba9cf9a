import Glibc
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
