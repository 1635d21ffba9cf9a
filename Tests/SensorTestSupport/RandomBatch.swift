package import LockstepModel

extension Batch {
    /// Returns a valid batch of a random stream.
    package static func random(using random: inout some RandomNumberGenerator) -> Batch {
        .random(of: SensorStream.builtIn.randomElement(using: &random) ?? .steps, using: &random)
    }

    /// Returns a valid batch of `stream`.
    /// - Parameter counts: the possible numbers of samples.
    package static func random(
        of stream: SensorStream, counts: ClosedRange<Int> = 1...12, using random: inout some RandomNumberGenerator
    ) -> Batch {
        let interval: Int64? = Bool.random(using: &random) ? .random(in: 1...1_000_000, using: &random) : nil
        var time = Int64.random(in: 0...2_000_000_000_000_000, using: &random)
        var block = SampleBlock(stream: stream)
        for _ in 0..<Int.random(in: counts, using: &random) {
            block.append(
                time: Timestamp(microseconds: time),
                values: stream.columns.map { value(of: $0, using: &random) })
            time += interval ?? .random(in: 1...1_000_000, using: &random)
        }
        let position =
            Bool.random(using: &random)
            ? BatchPosition(epoch: .random(using: &random), seq: .random(in: 1...1 << 40, using: &random)) : nil
        return Batch(position: position, isLive: Bool.random(using: &random), samples: block)
    }

    private static func value(
        of column: SensorStream.Column, using random: inout some RandomNumberGenerator
    ) -> Double {
        if !column.isRequired, Int.random(in: 0..<4, using: &random) == 0 { return .nan }
        let range = column.range ?? -1000...1000
        return switch column.kind {
        case .real: Double.random(in: range.lowerBound...min(range.upperBound, 1000), using: &random)
        case .integer: Double(Int64.random(in: (column.range == nil ? -1 << 50 : 0)...1 << 50, using: &random))
        case .choice(let words): Double(Int.random(in: words.indices, using: &random))
        }
    }

    /// Returns a batch that resembles sensor data: up to 300 samples with the same number of decimals, small changes
    /// from one sample to the next, and rare outliers.
    package static func series(using random: inout some RandomNumberGenerator) -> Batch {
        let count = Int.random(in: 1...300, using: &random)
        let power = Double.random(in: 0...12, using: &random).rounded(.down)
        let divisor = (0..<Int(power)).reduce(1.0) { product, _ in product * 10 }
        let range = Int64(1) << Int64.random(in: 0...30, using: &random)
        let columns = (0..<3).map { _ in
            var number = Int64.random(in: -range...range, using: &random)
            return (0..<count).map { _ in
                number += .random(in: -range / 8...range / 8, using: &random)
                if Int.random(in: 0..<200, using: &random) == 0 {
                    number = .random(in: -1 << 50...1 << 50, using: &random)
                }
                return Double(number) / divisor
            }
        }
        var time = Int64.random(in: 0...2_000_000_000_000_000, using: &random)
        let jitter = Int64.random(in: 1...2000, using: &random)
        let times = (0..<count).map { _ in
            time += .random(in: jitter...2 * jitter, using: &random)
            return time
        }
        return Batch(
            position: nil, samples: SampleBlock(stream: .accelerometer, times: times, columns: columns))
    }
}
