import LockstepModel

/// Collects rows into a block of samples.
struct SampleBlockBuilder: Sendable {
    private let stream: SensorStream
    private var times: [Int64] = []
    private var columns: [[Double]]

    init(stream: SensorStream) {
        self.stream = stream
        columns = Array(repeating: [], count: stream.columns.count)
    }

    mutating func append(time: Int64, row: [Double]) {
        times.append(time)
        for index in columns.indices { columns[index].append(row[index]) }
    }

    var block: SampleBlock { SampleBlock(stream: stream, times: times, columns: columns) }
}
