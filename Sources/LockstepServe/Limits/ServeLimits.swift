/// The limits that keep one client from disturbing the others.
public struct ServeLimits: Sendable {
    /// The maximum number of open connections. Further ones are answered with 503 and closed.
    public var connections = 1000
    /// The maximum number of event streams (`/live`, `/fleet`, `/states`) at the same time.
    public var eventStreams = 500
    /// The maximum number of these streams to one address. Further ones are answered with 429.
    public var eventStreamsOfAddress = 250
    /// The maximum size of a request body in bytes.
    public var body = 16_384
    /// The maximum size of one field of a request head, and of the target, in bytes.
    public var headField = 8192
    /// The maximum size of a request head in bytes.
    public var head = 32_768
    /// The time for the complete head of the first request of a connection.
    public var headTimeout = Duration.seconds(10)
    /// The time from the head of a request to its end.
    public var bodyTimeout = Duration.seconds(20)
    /// The time from an answer to the complete head of the next request.
    public var idleTimeout = Duration.seconds(75)
    /// The time that a client may leave an answer unread.
    public var writeTimeout = Duration.seconds(30)
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
