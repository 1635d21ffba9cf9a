import Glibc

extension SymmetricMatrix {
    /// The eigenvalues, and the eigenvectors of length 1 in the same order.
    struct Eigensystem {
        var values: SIMD3<Double>
        var vectors: (SIMD3<Double>, SIMD3<Double>, SIMD3<Double>)
    }

    /// The eigensystem by Jacobi rotations (Golub & Van Loan, *Matrix Computations*, section 8.5).
    var eigensystem: Eigensystem {
        var rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
        var vectors = [SIMD3(1.0, 0, 0), SIMD3(0.0, 1, 0), SIMD3(0.0, 0, 1)]
        // The convergence is quadratic, so a few sweeps reach full precision.
        for _ in 0..<12 {
            for (p, q) in [(0, 1), (0, 2), (1, 2)] where rows[p][q] != 0 {
                let ratio = (rows[q][q] - rows[p][p]) / (2 * rows[p][q])
                let tangent = (ratio < 0 ? -1 : 1) / (abs(ratio) + (1 + ratio * ratio).squareRoot())
                let cosine = 1 / (1 + tangent * tangent).squareRoot()
                let sine = tangent * cosine
                for k in 0..<3 {
                    let (a, b) = (rows[k][p], rows[k][q])
                    (rows[k][p], rows[k][q]) = (cosine * a - sine * b, sine * a + cosine * b)
                }
                for k in 0..<3 {
                    let (a, b) = (rows[p][k], rows[q][k])
                    (rows[p][k], rows[q][k]) = (cosine * a - sine * b, sine * a + cosine * b)
                }
                (vectors[p], vectors[q]) = (
                    vectors[p] * cosine - vectors[q] * sine, vectors[p] * sine + vectors[q] * cosine
                )
            }
        }
        return Eigensystem(
            values: SIMD3(rows[0][0], rows[1][1], rows[2][2]), vectors: (vectors[0], vectors[1], vectors[2]))
    }

    init(_ system: Eigensystem) {
        self.init(diagonal: 0)
        let terms = [
            (system.values.x, system.vectors.0), (system.values.y, system.vectors.1),
            (system.values.z, system.vectors.2),
        ]
        for (value, vector) in terms {
            xx += value * vector.x * vector.x
            xy += value * vector.x * vector.y
            xz += value * vector.x * vector.z
            yy += value * vector.y * vector.y
            yz += value * vector.y * vector.z
            zz += value * vector.z * vector.z
        }
    }
}
