/// Samples of one stream, in columns.
///
/// `columns[c][i]` is the value of column `c` of sample `i`. A value that is not known is `Double.nan`: null on the
/// wire and in the store, where a real NaN can't be.
public struct SampleBlock: Sendable {
    public let stream: SensorStream
    /// One timestamp a sample, in µs since 1970.
    public private(set) var times: [Int64]
    /// One array a column of the stream, each as long as `times`.
    public private(set) var columns: [[Double]]

    /// An empty block.
    public init(stream: SensorStream) {
        self.stream = stream
        times = []
        columns = Array(repeating: [], count: stream.columns.count)
    }

    /// A block of whole columns.
    /// - Precondition: there is a column for each of the stream's, each as long as `times`.
    public init(stream: SensorStream, times: [Int64], columns: [[Double]]) {
        precondition(columns.count == stream.columns.count && columns.allSatisfy { $0.count == times.count })
        self.stream = stream
        self.times = times
        self.columns = columns
    }

    public var count: Int { times.count }
    public var isEmpty: Bool { times.isEmpty }

    /// Makes room for `count` samples in all.
    package mutating func reserveCapacity(_ count: Int) {
        times.reserveCapacity(count)
        for index in columns.indices { columns[index].reserveCapacity(count) }
    }

    /// Adds one sample.
    /// - Precondition: `values` has one value for each column of the stream.
    public mutating func append(time: Timestamp, values: [Double]) {
        precondition(values.count == columns.count, "a sample of \(stream) has \(columns.count) values")
        times.append(time.microseconds)
        for index in columns.indices { columns[index].append(values[index]) }
    }

    /// Adds the samples of another block.
    /// - Precondition: it is of the same stream.
    public mutating func append(contentsOf other: SampleBlock) {
        precondition(other.columns.count == columns.count, "samples of \(other.stream) are none of \(stream)")
        times += other.times
        for index in columns.indices { columns[index] += other.columns[index] }
    }

    /// Lets `body` add samples to the end of the times and of each column, without a copy of what is there.
    /// - Returns: what `body` returns; false, as where it left columns of different lengths, takes back what it added.
    package mutating func appending(_ body: (inout [Int64], inout [[Double]]) -> Bool) -> Bool {
        let before = times.count
        if body(&times, &columns), columns.allSatisfy({ $0.count == times.count }) { return true }
        truncate(to: before)
        return false
    }

    /// Takes out all samples but the first `count`.
    package mutating func truncate(to count: Int) {
        times.removeLast(max(0, times.count - count))
        for index in columns.indices { columns[index].removeLast(max(0, columns[index].count - count)) }
    }

    /// The samples of a range, as a block of their own.
    public subscript(range: Range<Int>) -> SampleBlock {
        SampleBlock(stream: stream, times: Array(times[range]), columns: columns.map { Array($0[range]) })
    }

    /// Whether every required value of every sample is there, of its column's kind, and no value is infinite.
    public var isComplete: Bool {
        zip(stream.columns, columns).allSatisfy { column, values in
            values.allSatisfy { column.isRequired ? column.kind.takes($0) : !$0.isInfinite }
        }
    }

    /// The block without the samples that lack a required value or have an infinite one.
    public func droppingIncomplete() -> SampleBlock {
        guard !isComplete else { return self }
        var result = SampleBlock(stream: stream)
        for index in times.indices {
            let sample = SampleBlock(
                stream: stream, times: [times[index]], columns: values(at: index).map { [$0] })
            if sample.isComplete {
                result.append(time: Timestamp(microseconds: times[index]), values: values(at: index))
            }
        }
        return result
    }

    /// The values of sample `index`, in the order of the stream's columns.
    public func values(at index: Int) -> [Double] { columns.map { $0[index] } }
}

extension SampleBlock: Equatable {
    /// Same stream, same times, same values, where null equals null.
    public static func == (left: SampleBlock, right: SampleBlock) -> Bool {
        left.stream == right.stream && left.times == right.times
            && zip(left.columns, right.columns).allSatisfy { pair in
                zip(pair.0, pair.1).allSatisfy { $0 == $1 || ($0.isNaN && $1.isNaN) }
            }
    }
}
