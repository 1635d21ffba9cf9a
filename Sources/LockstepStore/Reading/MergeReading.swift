public import LockstepModel

/// Reads the samples of several streams and devices in order of time, as an export does.
public protocol MergeReading: AnyObject {
    /// Returns the times of the oldest and newest sample of a stream in a time range, for each device that has any.
    /// - Parameters:
    ///   - devices: the devices to look for.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    func timeRanges(
        of stream: SensorStream, devices: [DeviceAddress], from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> [DeviceAddress: ClosedRange<Timestamp>]

    /// Calls `each` for every sample of several streams and devices, in order of time. Samples of equal times are in the
    /// order of devices, then streams. Memory use does not grow with the result, but with the number of devices.
    /// - Parameters:
    ///   - streams: the streams to read.
    ///   - devices: the devices to read. Devices that are not stored are ignored.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - each: receives the rows, each with the index of its stream. An error that it throws ends the query.
    /// - Throws: ``StoreError``, or the error of `each`.
    func merge(
        streams: [SensorStream], devices: [DeviceAddress], from: Timestamp?, to: Timestamp?,
        each: (SampleRow, Int) throws -> Void
    ) throws
}
