/// Samples of one stream in columnar form.
///
/// `columns[c][i]` is the value of column `c` of sample `i`. `Double.nan` represents an unknown value, which is null on
/// the wire and in the store. Neither can represent NaN itself.
public struct SampleBlock: Sendable {
    /// The stream of the samples.
    public let stream: SensorStream
    /// The time of each sample in µs: since 1970, or on the boot clock until the agent has put it on its time line.
    public private(set) var times: [Int64]
    /// One array per column of the stream, each with as many values as `times`.
    public private(set) var columns: [[Double]]

    /// Creates an empty block.
    public init(stream: SensorStream) {
        self.stream = stream
        times = []
        columns = Array(repeating: [], count: stream.columns.count)
    }

    /// Creates a block from complete columns.
    /// - Precondition: there is one array per column of the stream, each with as many values as `times`.
    public init(stream: SensorStream, times: [Int64], columns: [[Double]]) {
        precondition(columns.count == stream.columns.count && columns.allSatisfy { $0.count == times.count })
        self.stream = stream
        self.times = times
        self.columns = columns
    }

    /// The number of samples.
    public var count: Int { times.count }
    /// Whether the block has no samples.
    public var isEmpty: Bool { times.isEmpty }

    /// Reserves memory for a total of `count` samples.
    package mutating func reserveCapacity(_ count: Int) {
        times.reserveCapacity(count)
        for index in columns.indices { columns[index].reserveCapacity(count) }
    }

    /// Appends one sample.
    /// - Precondition: `values` has one value per column of the stream.
    public mutating func append(time: Timestamp, values: [Double]) {
        precondition(values.count == columns.count, "a sample of \(stream) has \(columns.count) values")
        times.append(time.microseconds)
        for index in columns.indices { columns[index].append(values[index]) }
    }

    /// Appends the samples of another block.
    /// - Precondition: both blocks belong to the same stream.
    public mutating func append(contentsOf other: SampleBlock) {
        precondition(other.columns.count == columns.count, "cannot append samples of \(other.stream) to \(stream)")
        times += other.times
        for index in columns.indices { columns[index] += other.columns[index] }
    }

    /// Lets `body` append samples to the times and columns in place, without copying the existing samples.
    ///
    /// The appended samples are removed again if `body` returns false or leaves columns of different lengths.
    /// - Returns: whether the appended samples were kept.
    package mutating func appendInPlace(_ body: (inout [Int64], inout [[Double]]) -> Bool) -> Bool {
        let before = times.count
        if body(&times, &columns), columns.allSatisfy({ $0.count == times.count }) { return true }
        truncate(to: before)
        return false
    }

    /// Removes all samples except the first `count`.
    package mutating func truncate(to count: Int) {
        times.removeLast(max(0, times.count - count))
        for index in columns.indices { columns[index].removeLast(max(0, columns[index].count - count)) }
    }

    /// Returns a copy of the samples of `range` as a new block.
    public subscript(range: Range<Int>) -> SampleBlock {
        SampleBlock(stream: stream, times: Array(times[range]), columns: columns.map { Array($0[range]) })
    }

    /// Whether every sample has a valid value in each required column, and a valid or unknown one in every other column.
    public var isComplete: Bool {
        zip(stream.columns, columns).allSatisfy { column, values in
            values.allSatisfy { column.accepts($0) || ($0.isNaN && !column.isRequired) }
        }
    }

    /// Returns the block with the invalid values as unknown ones, and without samples that lack a required value.
    public func droppingIncomplete() -> SampleBlock {
        guard !isComplete else { return self }
        var result = SampleBlock(stream: stream)
        let position = stream.columns.indices.filter {
            stream == .location && ["lat", "lon"].contains(stream.columns[$0].name)
        }
        for index in times.indices {
            var values = zip(stream.columns, values(at: index)).map { $0.accepts($1) ? $1 : .nan }
            // Half a position is none.
            if position.contains(where: { values[$0].isNaN }) { for column in position { values[column] = .nan } }
            guard zip(stream.columns, values).allSatisfy({ !$0.isRequired || !$1.isNaN }) else { continue }
            result.append(time: Timestamp(microseconds: times[index]), values: values)
        }
        return result
    }

    /// Returns the values of sample `index` in the order of the stream's columns.
    public func values(at index: Int) -> [Double] { columns.map { $0[index] } }
}

extension SampleBlock: Equatable {
    /// Returns whether streams, times and values are equal. An unknown value equals an unknown value.
    public static func == (left: SampleBlock, right: SampleBlock) -> Bool {
        left.stream == right.stream && left.times == right.times
            && zip(left.columns, right.columns).allSatisfy { pair in
                zip(pair.0, pair.1).allSatisfy { $0 == $1 || ($0.isNaN && $1.isNaN) }
            }
    }
}

/// The content of one message: samples of one stream, and the position of the batch in the agent's sequence.
public struct Batch: Sendable, Equatable {
    /// The batch's position, or nil if the sender does not number its batches. The collector stores the samples of an
    /// unnumbered batch but cannot detect gaps.
    public var position: BatchPosition?
    /// Whether the batch is sent for the first time and without delay. A batch that is not live never changes a
    /// life-cycle state.
    public var isLive: Bool
    /// The samples.
    public var samples: SampleBlock

    /// Creates a batch.
    public init(position: BatchPosition?, isLive: Bool = true, samples: SampleBlock) {
        self.position = position
        self.isLive = isLive
        self.samples = samples
    }
}

/// The position of a batch in the sequence of its device and epoch.
public struct BatchPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The epoch to which `seq` belongs.
    public let epoch: Epoch
    /// The batch number: starts at 1 and increases by 1 without gaps.
    public let seq: Int64

    /// Creates a position.
    public init(epoch: Epoch, seq: Int64) {
        self.epoch = epoch
        self.seq = seq
    }

    /// The position as text: `EPOCH#SEQ`.
    public var description: String { "\(epoch)#\(seq)" }

    /// Returns whether `left` precedes `right` in the order of epoch id, then number.
    public static func < (left: BatchPosition, right: BatchPosition) -> Bool {
        (left.epoch, left.seq) < (right.epoch, right.seq)
    }
}

/// A source of past samples of one device, such as a store or an outbox.
public protocol SampleHistory: Sendable {
    /// Returns the samples of `stream` from `from` to `to`, both inclusive, in order of time.
    /// - Throws: an error of the underlying storage if the samples cannot be read.
    func samples(of stream: SensorStream, from: Timestamp, to: Timestamp) throws -> SampleBlock
}
