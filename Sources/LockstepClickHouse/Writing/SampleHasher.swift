import LockstepModel

/// Computes the hashes of samples. Equal values have equal hashes.
struct SampleHasher {
    private let columns: [(name: [UInt8], kind: SensorStream.Kind)]

    init(_ stream: SensorStream) { columns = stream.columns.map { (Array($0.name.utf8), $0.kind) } }

    /// Returns the hash of the known values of each sample.
    func hashes(of samples: SampleBlock) -> [UInt64] {
        var states = Array(repeating: StableHash(), count: samples.count)
        for (column, values) in zip(columns, samples.columns) {
            // Without unknown values, the hash stays the same when the stream gains a column.
            switch column.kind {
            case .choice(let words):
                for (index, value) in values.enumerated() {
                    guard let word = column.kind.word(value) else { continue }
                    states[index].combine(bytes: column.name)
                    states[index].combine(words[word])
                }
            case .integer: Self.combine(column.name, values.map(column.kind.number), into: &states)
            case .real: Self.combine(column.name, values, into: &states)
            }
        }
        return states.map(\.value)
    }

    private static func combine(_ name: [UInt8], _ values: [Double], into states: inout [StableHash]) {
        states.withUnsafeMutableBufferPointer { states in
            values.withUnsafeBufferPointer { values in
                for index in 0..<min(states.count, values.count) where !values[index].isNaN {
                    states[index].combine(bytes: name)
                    // Adding 0 turns -0 into 0.
                    states[index].combine((values[index] + 0).bitPattern)
                }
            }
        }
    }
}

extension SensorStream.Kind {
    /// Returns a number as the store returns it: integers are rounded, and invalid values become NaN, which is unknown.
    func number(_ value: Double) -> Double {
        guard self == .integer else { return value }
        return value.magnitude <= 9_007_199_254_740_991 ? value.rounded() : .nan
    }

    /// Returns the index of a word of a choice, or nil if the value is unknown.
    func word(_ value: Double) -> Int? {
        guard case .choice(let words) = self, let index = Int(exactly: value), words.indices.contains(index) else {
            return nil
        }
        return index
    }
}
