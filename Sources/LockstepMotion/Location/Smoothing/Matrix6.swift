/// A 6 × 6 matrix, row by row.
struct Matrix6: Sendable {
    static let size = 6
    private(set) var values: [Double]

    init(diagonal: [Double]) {
        values = [Double](repeating: 0, count: Self.size * Self.size)
        for (index, value) in diagonal.enumerated() { values[index * Self.size + index] = value }
    }

    subscript(row: Int, column: Int) -> Double {
        get { values[row * Self.size + column] }
        set { values[row * Self.size + column] = newValue }
    }

    static func * (left: Matrix6, right: Matrix6) -> Matrix6 {
        var result = Matrix6(diagonal: [])
        for row in 0..<size {
            for inner in 0..<size {
                let factor = left[row, inner]
                guard factor != 0 else { continue }
                for column in 0..<size { result[row, column] += factor * right[inner, column] }
            }
        }
        return result
    }

    static func * (matrix: Matrix6, vector: [Double]) -> [Double] {
        (0..<size).map { row in (0..<size).reduce(0) { $0 + matrix[row, $1] * vector[$1] } }
    }

    static func - (left: Matrix6, right: Matrix6) -> Matrix6 {
        var result = left
        for index in result.values.indices { result.values[index] -= right.values[index] }
        return result
    }

    static func + (left: Matrix6, right: Matrix6) -> Matrix6 {
        var result = left
        for index in result.values.indices { result.values[index] += right.values[index] }
        return result
    }

    var transposed: Matrix6 {
        var result = self
        for row in 0..<Self.size { for column in 0..<Self.size { result[row, column] = self[column, row] } }
        return result
    }

    /// Solves `self` · X = `right` by Cholesky factorisation.
    ///
    /// - Precondition: the matrix is symmetric and positive definite.
    func solve(_ right: Matrix6) -> Matrix6 {
        var lower = Matrix6(diagonal: [])
        for row in 0..<Self.size {
            for column in 0...row {
                var sum = self[row, column]
                for k in 0..<column { sum -= lower[row, k] * lower[column, k] }
                // Rounding must not make the root undefined.
                lower[row, column] = row == column ? max(sum, 1e-12).squareRoot() : sum / lower[column, column]
            }
        }
        var result = right
        for column in 0..<Self.size {
            for row in 0..<Self.size {
                for k in 0..<row { result[row, column] -= lower[row, k] * result[k, column] }
                result[row, column] /= lower[row, row]
            }
            for row in (0..<Self.size).reversed() {
                for k in row + 1..<Self.size { result[row, column] -= lower[k, row] * result[k, column] }
                result[row, column] /= lower[row, row]
            }
        }
        return result
    }
}
