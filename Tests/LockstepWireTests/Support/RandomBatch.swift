import LockstepModel

extension Batch {
    /// A valid batch of any stream.
    static func random(using random: inout some RandomNumberGenerator) -> Batch {
        let stream = SensorStream.all.randomElement(using: &random) ?? .steps
        let step: Int64? = Bool.random(using: &random) ? .random(in: 1...1_000_000, using: &random) : nil
        var time = Int64.random(in: 0...2_000_000_000_000_000, using: &random)
        var block = SampleBlock(stream: stream)
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            block.append(
                time: Timestamp(microseconds: time),
                values: stream.columns.map { value(of: $0, using: &random) })
            time += step ?? .random(in: 1...1_000_000, using: &random)
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
        return switch column.kind {
        case .real: Double.random(in: -1000...1000, using: &random)
        case .integer: Double(Int64.random(in: -1 << 50...1 << 50, using: &random))
        case .choice(let words): Double(Int.random(in: words.indices, using: &random))
        }
    }
}
