import Glibc

/// How a sensor is built in: takes values along its axes to those of the device.
package struct MountMatrix: Sendable, Hashable {
    package let rows: [SIMD3<Double>]

    /// How far lengths and right angles may be off: device trees round sines to a few digits.
    private static let tolerance = 0.01

    /// Reads `1, 0, 0; 0, 1, 0; 0, 0, 1`.
    /// - Throws: ``IIOError`` if the text is no 3 by 3 matrix, or one that is no rotation: its rows are not at right
    ///   angles or not of length 1. A determinant of -1 is accepted.
    package init(_ text: String) throws(IIOError) {
        let rows = text.split(separator: ";", omittingEmptySubsequences: false).map { row in
            row.split(separator: ",", omittingEmptySubsequences: false).map { field in
                Double(String(field.filter { !$0.isWhitespace })) ?? .nan
            }
        }
        guard rows.count == 3, rows.allSatisfy({ $0.count == 3 && $0.allSatisfy(\.isFinite) }) else {
            throw IIOError("'\(text)' is no matrix of 3 by 3 numbers; \(Self.advice)")
        }
        self.rows = rows.map { SIMD3($0[0], $0[1], $0[2]) }
        for first in 0..<3 {
            for second in first..<3 {
                let product = (self.rows[first] * self.rows[second]).sum()
                guard abs(product - (first == second ? 1 : 0)) <= Self.tolerance else {
                    throw IIOError(
                        "'\(text)' is no rotation (rows of length 1 at right angles); \(Self.advice)")
                }
            }
        }
    }

    private static let advice = "correct the sensor's mount-matrix in the device tree or the firmware tables"

    /// A vector along the sensor's axes, along those of the device.
    package func apply(_ vector: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3((rows[0] * vector).sum(), (rows[1] * vector).sum(), (rows[2] * vector).sum())
    }

    /// Rows of numbers.
    package var numbers: [[Double]] { rows.map { [$0.x, $0.y, $0.z] } }
}
