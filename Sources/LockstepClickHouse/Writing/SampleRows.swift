import LockstepModel

/// The rows of one stream in a transaction.
struct SampleRows {
    /// The stream.
    let stream: SensorStream
    /// The encoded rows.
    private(set) var rows = RowBinary()

    init(_ stream: SensorStream) { self.stream = stream }

    /// Returns the hash of a sample's values. Equal values have equal hashes.
    func hash(of samples: SampleBlock, at index: Int) -> UInt64 {
        var hash = StableHash()
        for (column, values) in zip(stream.columns, samples.columns) {
            let value = column.kind.stored(values[index])
            switch column.kind {
            // Adding 0 turns -0 into 0. All NaNs mean the same: unknown.
            case .real, .integer: hash.combine(value.isNaN ? 0x7FF8_0000_0000_0001 : (value + 0).bitPattern)
            case .choice(let words): hash.combine(value.isNaN ? "" : words[Int(value)] + "\n")
            }
        }
        return hash.value
    }

    /// Appends sample `index` of `samples`.
    mutating func append(
        device: Int64, _ samples: SampleBlock, at index: Int, hash: UInt64, receivedAt: Timestamp
    ) {
        rows.append(device)
        rows.append(samples.times[index])
        for (column, values) in zip(stream.columns, samples.columns) {
            let value = column.kind.stored(values[index])
            // A collector rejects samples without a required value.
            if !column.isRequired {
                rows.append(isNull: value.isNaN)
                guard !value.isNaN else { continue }
            }
            switch column.kind {
            case .real: rows.append(value + 0)
            case .integer: rows.append(value.isNaN ? 0 : Int64(value))
            case .choice(let words): rows.append(value.isNaN ? "" : words[Int(value)])
            }
        }
        rows.append(UInt64.max - UInt64(clamping: receivedAt.microseconds))
        rows.append(hash)
        rows.endRow()
    }
}

extension SensorStream.Kind {
    /// Returns `value` as the store returns it: integers are rounded, and invalid values become NaN, which is unknown.
    fileprivate func stored(_ value: Double) -> Double {
        switch self {
        case .real: value
        case .integer: value.magnitude <= 9_007_199_254_740_991 ? value.rounded() : .nan
        case .choice(let words): Int(exactly: value).map(words.indices.contains) == true ? value : .nan
        }
    }
}
