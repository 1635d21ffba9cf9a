import Glibc
import LockstepMotion

/// Takes what a sensor counts along three axes to our units along the axes of the device.
package struct AxisConversion: Sendable, Hashable {
    /// The kernel's unit for a count, along each axis.
    package let scale: SIMD3<Double>
    /// Counts to add before scaling.
    package let offset: SIMD3<Double>
    /// nil where nobody says how the sensor is built in.
    package let mount: MountMatrix?
    /// Our unit for the kernel's.
    package let factor: Double

    /// Finer differences than a tenth of a count are not in the data, and cost bytes in every payload.
    private let decimals: Int

    /// What is in the kernel's unit already has up to nine decimals, and nobody tells how large a count is.
    private static let processedDecimals = 9

    /// - Parameter isProcessed: whether the values are in the kernel's unit already, and no counts.
    package init(
        scale: SIMD3<Double>, offset: SIMD3<Double>, mount: MountMatrix?, factor: Double, isProcessed: Bool = false
    ) {
        self.scale = scale
        self.offset = offset
        self.mount = mount
        self.factor = factor
        let finest = (0..<3).map { abs(scale[$0] * factor) }.min() ?? 1
        decimals =
            isProcessed
            ? Self.processedDecimals : min(max(4, Int((-log10(max(finest, 1e-12))).rounded(.up)) + 1), 12)
    }

    /// (raw + offset) × scale, turned and in our unit.
    package func values(of raw: SIMD3<Double>) -> [Double] {
        let native = (raw + offset) * scale
        let turned = (mount?.apply(native) ?? native) * factor
        return [turned.x, turned.y, turned.z].map { resolved($0, decimals: decimals) }
    }
}
