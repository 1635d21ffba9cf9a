/// A symmetric 3 × 3 matrix.
struct SymmetricMatrix: Sendable, Hashable {
    var xx, xy, xz, yy, yz, zz: Double

    /// Creates the identity matrix multiplied by `value`.
    init(diagonal value: Double) { (xx, xy, xz, yy, yz, zz) = (value, 0, 0, value, 0, value) }

    init(xx: Double, xy: Double, xz: Double, yy: Double, yz: Double, zz: Double) {
        (self.xx, self.xy, self.xz, self.yy, self.yz, self.zz) = (xx, xy, xz, yy, yz, zz)
    }

    static func + (left: SymmetricMatrix, right: SymmetricMatrix) -> SymmetricMatrix {
        SymmetricMatrix(
            xx: left.xx + right.xx, xy: left.xy + right.xy, xz: left.xz + right.xz, yy: left.yy + right.yy,
            yz: left.yz + right.yz, zz: left.zz + right.zz)
    }

    @inline(__always)
    static func * (matrix: SymmetricMatrix, vector: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(
            matrix.xx * vector.x + matrix.xy * vector.y + matrix.xz * vector.z,
            matrix.xy * vector.x + matrix.yy * vector.y + matrix.yz * vector.z,
            matrix.xz * vector.x + matrix.yz * vector.y + matrix.zz * vector.z)
    }

    /// The inverse, by cofactors.
    ///
    /// - Precondition: the matrix is invertible.
    @inline(__always)
    var inverse: SymmetricMatrix {
        let cxx = yy * zz - yz * yz
        let cxy = xz * yz - xy * zz
        let cxz = xy * yz - xz * yy
        let scale = 1 / (xx * cxx + xy * cxy + xz * cxz)
        return SymmetricMatrix(
            xx: cxx * scale, xy: cxy * scale, xz: cxz * scale, yy: (xx * zz - xz * xz) * scale,
            yz: (xy * xz - xx * yz) * scale, zz: (xx * yy - xy * xy) * scale)
    }

    /// The largest sum of the magnitudes in one row: an upper bound of the largest eigenvalue (Gershgorin).
    var rowSumNorm: Double {
        max(abs(xx) + abs(xy) + abs(xz), max(abs(xy) + abs(yy) + abs(yz), abs(xz) + abs(yz) + abs(zz)))
    }
}
