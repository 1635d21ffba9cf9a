import LockstepModel

/// The rows of one stream in a transaction.
struct SampleRows {
    /// The stream.
    let stream: SensorStream
    /// The encoded rows.
    private(set) var rows = RowBinary()

    init(_ stream: SensorStream) { self.stream = stream }

    /// Returns the hash of a sample's known values. Equal values have equal hashes.
    func hash(of samples: SampleBlock, at index: Int) -> UInt64 {
        var hash = StableHash()
        for (column, values) in zip(stream.columns, samples.columns) {
            let value = column.kind.stored(values[index])
            // Without unknown values, the hash stays the same when the stream gains a column.
            guard !value.isNaN else { continue }
            hash.combine(column.name)
            switch column.kind {
            // Adding 0 turns -0 into 0.
            case .real, .integer: hash.combine((value + 0).bitPattern)
            case .choice(let words): hash.combine(words[Int(value)])
            }
        }
        return hash.value
    }

    /// Appends sample `index` of `samples`.
    /// - Parameter isConflict: whether a sample with the same time and other values is stored.
    mutating func append(
        device: Int64, _ samples: SampleBlock, at index: Int, hash: UInt64, receivedAt: Timestamp, isConflict: Bool
    ) {
        rows.append(device)
        rows.append(samples.times[index])
        for (column, values) in zip(stream.columns, samples.columns) {
            let value = column.kind.stored(values[index])
            rows.append(isNull: value.isNaN)
            guard !value.isNaN else { continue }
            switch column.kind {
            case .real: rows.append(value + 0)
            case .integer: rows.append(Int64(value))
            case .choice(let words): rows.append(words[Int(value)])
            }
        }
        // A sample ranks above all of its conflicts, and of two samples the one received first ranks higher.
        let rank = UInt64(Int64.max) - UInt64(clamping: receivedAt.microseconds)
        rows.append(isConflict ? rank : rank | Self.lowestSampleRank)
        rows.append(hash)
        rows.endRow()
    }

    /// The lowest rank of a sample that is no conflict.
    static let lowestSampleRank: UInt64 = 1 << 63

    /// Returns the time of receipt of a row with a rank, in µs since 1970.
    static func receivedAt(rank: UInt64) -> Int64 { Int64.max - Int64(rank & ~lowestSampleRank) }
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
