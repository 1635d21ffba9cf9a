import Glibc

/// The discrete Fourier transform of a fixed size: Cooley & Tukey, "An algorithm for the machine calculation of complex
/// Fourier series", Mathematics of Computation 19 (1965), radix 2, in place.
struct FourierTransform: Sendable {
    /// Complex values.
    struct Values: Sendable {
        var real: [Double]
        var imaginary: [Double]
    }

    /// The number of values: a power of two.
    let size: Int
    private let cosines: [Double]
    private let sines: [Double]

    /// - Parameter minSize: the smallest size, which is rounded up to a power of two.
    init(minSize: Int) {
        var size = 2
        while size < minSize { size *= 2 }
        self.size = size
        let angles = (0..<size / 2).map { -2 * Double.pi * Double($0) / Double(size) }
        cosines = angles.map { cos($0) }
        sines = angles.map { sin($0) }
    }

    /// Returns the transform of real values, padded with zeros.
    func forward(_ values: [Double]) -> Values {
        var result = Values(
            real: values + [Double](repeating: 0, count: size - values.count),
            imaginary: [Double](repeating: 0, count: size))
        transform(&result)
        return result
    }

    /// Returns Σⱼ a[j + d] b[j] at index d, and at size + d for a negative d.
    func correlation(_ a: Values, _ b: Values) -> [Double] {
        // The inverse transform is the forward one with real and imaginary parts exchanged.
        var product = Values(real: a.imaginary, imaginary: a.real)
        for index in 0..<size {
            product.real[index] = a.imaginary[index] * b.real[index] - a.real[index] * b.imaginary[index]
            product.imaginary[index] = a.real[index] * b.real[index] + a.imaginary[index] * b.imaginary[index]
        }
        transform(&product)
        return product.imaginary.map { $0 / Double(size) }
    }

    private func transform(_ values: inout Values) {
        values.real.withUnsafeMutableBufferPointer { real in
            values.imaginary.withUnsafeMutableBufferPointer { imaginary in
                reorder(real, imaginary)
                var half = 1
                while half < size {
                    let stride = size / (2 * half)
                    var start = 0
                    while start < size {
                        for offset in 0..<half {
                            let (low, high) = (start + offset, start + offset + half)
                            let (cosine, sine) = (cosines[offset * stride], sines[offset * stride])
                            let x = real[high] * cosine - imaginary[high] * sine
                            let y = real[high] * sine + imaginary[high] * cosine
                            (real[high], imaginary[high]) = (real[low] - x, imaginary[low] - y)
                            (real[low], imaginary[low]) = (real[low] + x, imaginary[low] + y)
                        }
                        start += 2 * half
                    }
                    half *= 2
                }
            }
        }
    }

    /// Exchanges values whose indices have their bits in reverse order.
    private func reorder(_ real: UnsafeMutableBufferPointer<Double>, _ imaginary: UnsafeMutableBufferPointer<Double>) {
        var reversed = 0
        for index in 1..<size {
            var bit = size / 2
            while reversed & bit != 0 {
                reversed ^= bit
                bit /= 2
            }
            reversed |= bit
            if index < reversed {
                real.swapAt(index, reversed)
                imaginary.swapAt(index, reversed)
            }
        }
    }
}
