import Glibc

/// The Schmidt semi-normalised associated Legendre functions P(n, m) of the sine of a latitude, with their derivatives,
/// by the usual recursion over the degree.
struct LegendreFunctions {
    private var values: [Double]
    /// The derivatives with respect to the latitude.
    private var derivatives: [Double]
    private let cosine: Double

    /// - Parameter latitude: in rad, −π/2…π/2.
    init(degree: Int, latitude: Double) {
        let sine = sin(latitude)
        // At a pole P / cos has a finite limit. The lower bound avoids 0 / 0.
        let cosine = max(cos(latitude), 1e-12)
        self.cosine = cosine
        let count = Self.index(degree, degree) + 1
        values = [Double](repeating: 0, count: count)
        derivatives = values
        values[0] = 1
        for n in 1...degree {
            for m in 0...n {
                let index = Self.index(n, m)
                if n == m {
                    let factor = n == 1 ? 1 : (1 - 1 / Double(2 * n)).squareRoot()
                    let before = Self.index(n - 1, n - 1)
                    values[index] = factor * cosine * values[before]
                    derivatives[index] = factor * (cosine * derivatives[before] - sine * values[before])
                } else {
                    let before = Self.index(n - 1, m)
                    let scale = 1 / Double(n * n - m * m).squareRoot()
                    let first = Double(2 * n - 1)
                    values[index] = first * sine * values[before] * scale
                    derivatives[index] = first * (sine * derivatives[before] + cosine * values[before]) * scale
                    if n - 2 >= m {
                        let second = Double((n - 1) * (n - 1) - m * m).squareRoot() * scale
                        values[index] -= second * values[Self.index(n - 2, m)]
                        derivatives[index] -= second * derivatives[Self.index(n - 2, m)]
                    }
                }
            }
        }
    }

    /// Returns P(n, m).
    func value(_ n: Int, _ m: Int) -> Double { values[Self.index(n, m)] }

    /// Returns the derivative of P(n, m) with respect to the latitude.
    func derivative(_ n: Int, _ m: Int) -> Double { derivatives[Self.index(n, m)] }

    /// Returns P(n, m) divided by the cosine of the latitude.
    func valueByCosine(_ n: Int, _ m: Int) -> Double { values[Self.index(n, m)] / cosine }

    private static func index(_ n: Int, _ m: Int) -> Int { n * (n + 1) / 2 + m }
}
