public import LockstepModel

/// A query of the rows of one stream of one device: samples, the newest sample, or averages.
public struct SampleQuery: Hashable, Sendable {
    /// The device.
    public var device: DeviceAddress
    /// The stream.
    public var stream: SensorStream
    /// The kind of rows.
    public var detail: QueryDetail
    /// The start of the time range (inclusive), or nil for no limit.
    public var from: Timestamp?
    /// The end of the time range (exclusive), or nil for no limit.
    public var to: Timestamp?
    /// The maximum number of rows, or nil for no limit.
    public var limit: Int?

    /// Creates a query.
    public init(
        device: DeviceAddress, stream: SensorStream, detail: QueryDetail = .samples, from: Timestamp? = nil,
        to: Timestamp? = nil, limit: Int? = nil
    ) {
        self.device = device
        self.stream = stream
        self.detail = detail
        self.from = from
        self.to = to
        self.limit = limit
    }

    /// The columns of the values that the query returns.
    public var columns: [SensorStream.Column] { detail.columns(of: stream) }

    package var times: Range<Int64> { timeRange(from, to) }
}

/// A row of a query: a stored sample, or the aggregates of a time span.
public struct SampleRow: Sendable {
    /// The address of the device.
    public let device: DeviceAddress
    /// The time of the sample, or the start of the time span.
    public let time: Timestamp
    /// The values in the order of ``QueryDetail/columns(of:)``. NaN stands for null.
    public let values: [Double]

    /// Creates a row.
    public init(device: DeviceAddress, time: Timestamp, values: [Double]) {
        self.device = device
        self.time = time
        self.values = values
    }
}
