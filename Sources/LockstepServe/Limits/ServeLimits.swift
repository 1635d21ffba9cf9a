public import LockstepHTTP

/// The limits that keep one client from disturbing the others.
public struct ServeLimits: Sendable {
    /// The limits of connections and requests.
    public var http = HTTPLimits()
    /// The maximum number of event streams (`/live`, `/fleet`, `/states`, `/events`) at the same time.
    public var eventStreams = 500
    /// The maximum number of these streams to one address. Further ones are answered with 429.
    public var eventStreamsOfAddress = 250
    /// The maximum size of all answers, or parts of them, that clients have not taken yet, in bytes.
    public var unsentBytes = 128 << 20
    /// The maximum rate at which one answer is sent, in bytes per second.
    public var outputRate = 50 << 20
    /// The longest time range of a query of single samples, in µs.
    public var sampleSpan: Int64 = 31 * 86_400_000_000
    /// The longest time range of any other query, in µs.
    public var span: Int64 = 3660 * 86_400_000_000
    /// The maximum number of rows of an answer in JSON.
    public var rows = 1_000_000
    /// The maximum number of rows of averages or envelopes.
    public var buckets = 20_000
    /// The number of threads that read the store.
    public var storeThreads = 3
    /// The maximum number of reads that wait for a thread.
    public var waitingReads = 200

    /// Creates the default limits.
    public init() {}
}
