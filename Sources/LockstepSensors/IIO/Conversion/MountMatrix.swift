import Glibc

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
