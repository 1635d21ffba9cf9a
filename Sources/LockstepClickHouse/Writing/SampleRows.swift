import LockstepModel

/// The rows of one stream in a transaction, by column.
struct SampleRows {
    /// Consecutive rows of one device.
    private struct Part {
        let device: Int64
        var rows: Range<Int>
    }

    /// The stream.
    let stream: SensorStream
    /// The time of each row.
    private(set) var times: [Int64] = []
    /// The hash of each row.
    private(set) var hashes: [UInt64] = []
    private var ranks: [UInt64] = []
    /// The values of each column, as they were received.
    private var values: [[Double]]
    private var parts: [Part] = []

    init(_ stream: SensorStream) {
        self.stream = stream
        values = stream.columns.map { _ in [] }
    }

    /// The number of rows.
    var count: Int { times.count }
    /// Whether there are no rows.
    var isEmpty: Bool { times.isEmpty }

    /// Appends the samples of `range`.
    /// - Parameters:
    ///   - hashes: the hashes of all `samples`.
    ///   - isConflict: whether samples with the same times and other values are stored.
    mutating func append(
        device: Int64, _ samples: SampleBlock, _ range: Range<Int>, hashes: [UInt64], receivedAt: Timestamp,
        isConflict: Bool
    ) {
        guard !range.isEmpty else { return }
        if let last = parts.last, last.device == device {
            parts[parts.count - 1].rows = last.rows.lowerBound..<count + range.count
        } else {
            parts.append(Part(device: device, rows: count..<count + range.count))
        }
        times += samples.times[range]
        self.hashes += hashes[range]
        ranks += repeatElement(Self.rank(receivedAt: receivedAt, isConflict: isConflict), count: range.count)
        for column in values.indices { values[column] += samples.columns[column][range] }
    }

    /// Returns the rows in the format Native.
    ///
    /// They are in the order of the table's sorting key if each device has sent its samples in order of time. The server
    /// then does not sort them.
    func encoded() -> [UInt8] {
        // Sorting is stable, so that the samples of a device stay in the order of their receipt.
        let parts =
            zip(parts, parts.dropFirst()).allSatisfy { $0.device <= $1.device }
            ? parts : parts.sorted { $0.device < $1.device }
        let order = parts.map(\.rows)
        let names = stream.receivedColumns
        return NativeBlock.encoded(rows: count, columns: names.count, capacity: capacity) { block in
            block.beginColumn("device_id", "Int64")
            for part in parts { block.append(part.device, count: part.rows.count) }
            block.beginColumn("t", "Int64")
            block.append(times, order)
            for (column, values) in zip(stream.columns, values) {
                block.beginColumn(column.name, column.clickHouseType)
                switch column.kind {
                case .real: block.append(nullable: values, order)
                case .integer: block.append(nullableIntegers: values.map(column.kind.number), order)
                case .choice(let words):
                    block.append(nullableTexts: values, order) { column.kind.word($0).map { words[$0] } }
                }
            }
            block.beginColumn("_rank", "UInt64")
            block.append(ranks, order)
            block.beginColumn("_values_hash", "UInt64")
            block.append(hashes, order)
        }
    }

    /// The maximum size of the encoded rows.
    private var capacity: Int {
        let row = stream.columns.reduce(4 * 8) { size, column in
            guard case .choice(let words) = column.kind else { return size + 9 }
            return size + 1 + NativeBlock.maxLength + (words.map(\.utf8.count).max() ?? 0)
        }
        return row * count
    }

    /// Returns the rank of a row. A sample ranks above all of its conflicts, and of two samples the one received first
    /// ranks higher.
    private static func rank(receivedAt: Timestamp, isConflict: Bool) -> UInt64 {
        let rank = UInt64(Int64.max) - UInt64(clamping: receivedAt.microseconds)
        return isConflict ? rank : rank | lowestSampleRank
    }

    /// The lowest rank of a sample that is no conflict.
    static let lowestSampleRank: UInt64 = 1 << 63

    /// Returns the time of receipt of a row with a rank, in µs since 1970.
    static func receivedAt(rank: UInt64) -> Int64 { Int64.max - Int64(rank & ~lowestSampleRank) }
}
