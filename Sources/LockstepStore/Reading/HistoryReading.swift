public import LockstepModel

/// Reads what is stored of single devices, as a server does for its clients. Each query can be cancelled.
public protocol HistoryReading: AnyObject {
    /// Returns whether a device is stored.
    func contains(_ device: DeviceAddress, cancellation: QueryCancellation?) throws(StoreError) -> Bool

    /// Returns an overview of every device, ordered by group and device id.
    func overviews(cancellation: QueryCancellation?) throws(StoreError) -> [DeviceOverview]

    /// Calls `each` for every row of a query, in order of time. Memory use does not grow with the result.
    /// - Parameters:
    ///   - query: the query. A device or stream that is not stored has no rows.
    ///   - cancellation: ends the query early.
    ///   - each: receives the time and the values in the order of ``SampleQuery/columns``. NaN stands for null. An error
    ///     that it throws ends the query. It must not start another cancellable query of this reader.
    /// - Returns: whether there are more rows than the limit.
    /// - Throws: ``StoreError``, or the error of `each`.
    @discardableResult
    func run(
        _ query: SampleQuery, cancellation: QueryCancellation?, each: (Timestamp, [Double]) throws -> Void
    ) throws -> Bool

    /// Returns the least and greatest values of each column in at most ``EnvelopeQuery/points`` buckets.
    /// - Returns: the envelope. It has no buckets if the device or stream is not stored.
    func envelope(_ query: EnvelopeQuery, cancellation: QueryCancellation?) throws(StoreError) -> Envelope

    /// Returns every n-th sample of a range, beginning with the first. n is the least number with which there are at most
    /// ``EnvelopeQuery/points`` samples.
    func everyNth(_ query: EnvelopeQuery, cancellation: QueryCancellation?) throws(StoreError) -> ThinnedSamples

    /// Returns changes of a device's life-cycle state, in the order of their numbers.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - limit: the maximum number of changes. If there are more, the newest are returned.
    func transitions(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, limit: Int, cancellation: QueryCancellation?
    ) throws(StoreError) -> [LifecycleTransition]

    /// Returns the sums and the newest values of the stream `steps` of a device.
    ///
    /// A sample counts if its time, which is the end of its interval, is in the range.
    func walk(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, cancellation: QueryCancellation?
    ) throws(StoreError) -> WalkSummary

    /// Returns the faults in the delivery of a device, or nil if it is not stored.
    ///
    /// A rejected message is one of the device if its topic contains `/GROUP/DEVICE/`.
    /// - Parameter limit: the maximum number of conflicts and of rejected messages.
    func health(
        of device: DeviceAddress, limit: Int, cancellation: QueryCancellation?
    ) throws(StoreError) -> DeviceHealth?
}
