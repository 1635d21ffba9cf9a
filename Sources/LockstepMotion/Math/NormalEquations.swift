/// A linear least-squares problem that observations are added to one by one. Only weighted sums of products are stored,
/// so that the size does not depend on the number of observations.
struct NormalEquations: Sendable {
    private let count: Int
    /// Σ w φ φᵀ, row by row.
    private var products: [Double]
    /// Σ w φ y.
    private var targets: [Double]
    /// Σ w y².
    private var squares = 0.0
    /// Σ w.
    private(set) var weight = 0.0

    /// - Parameter count: the number of unknowns.
    init(count: Int) {
        self.count = count
        products = [Double](repeating: 0, count: count * count)
        targets = [Double](repeating: 0, count: count)
    }

    /// Multiplies the weights of all previous observations by `factor`.
    mutating func fade(by factor: Double) {
        for index in products.indices { products[index] *= factor }
        for index in targets.indices { targets[index] *= factor }
        squares *= factor
        weight *= factor
    }

    /// Adds the observation φ · u = y.
    mutating func add(_ features: [Double], target: Double) {
        for row in 0..<count {
            for column in 0..<count { products[row * count + column] += features[row] * features[column] }
            targets[row] += features[row] * target
        }
        squares += target * target
        weight += 1
    }

    /// Returns the unknowns with the smallest sum of squares, by Cholesky factorisation.
    ///
    /// - Parameters:
    ///   - unknowns: the indices of the unknowns to solve for; the others are 0.
    ///   - ridge: returns the value to add to the diagonal for an unknown (Tikhonov regularisation).
    /// - Returns: all unknowns and the mean square of the residuals, or nil if the equations are singular.
    func solution(of unknowns: Range<Int>, ridge: (Int) -> Double) -> (values: [Double], meanSquare: Double)? {
        let size = unknowns.count
        var lower = [Double](repeating: 0, count: size * size)
        var solved = [Double](repeating: 0, count: size)
        for row in 0..<size {
            let from = unknowns.lowerBound + row
            for column in 0...row {
                var sum = products[from * count + unknowns.lowerBound + column]
                if row == column { sum += ridge(from) }
                for k in 0..<column { sum -= lower[row * size + k] * lower[column * size + k] }
                if row == column {
                    guard sum > 1e-12 * (1 + products[from * count + from]) else { return nil }
                    lower[row * size + row] = sum.squareRoot()
                } else {
                    lower[row * size + column] = sum / lower[column * size + column]
                }
            }
            var sum = targets[from]
            for k in 0..<row { sum -= lower[row * size + k] * solved[k] }
            solved[row] = sum / lower[row * size + row]
        }
        for row in (0..<size).reversed() {
            var sum = solved[row]
            for k in row + 1..<size { sum -= lower[k * size + row] * solved[k] }
            solved[row] = sum / lower[row * size + row]
        }
        var values = [Double](repeating: 0, count: count)
        for row in 0..<size { values[unknowns.lowerBound + row] = solved[row] }
        return (values, meanSquare(of: values))
    }

    /// Returns the mean square of the residuals of `values`.
    private func meanSquare(of values: [Double]) -> Double {
        var sum = squares
        for row in 0..<count {
            sum -= 2 * values[row] * targets[row]
            for column in 0..<count { sum += values[row] * products[row * count + column] * values[column] }
        }
        return max(0, sum) / weight
    }
}
