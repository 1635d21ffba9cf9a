public import LockstepModel

/// A subscriber's request for one stream.
public struct SensorRequest: Sendable, Hashable {
    /// The requested rate in samples/s; `.infinity` requests every sample at the sensor's native rate.
    public var rate: Double
    /// The lowest acceptable sensor rate in samples/s, for requests of every sample.
    public var minimum: Double
    /// For locations: the distance in m between samples; 0 requests all.
    public var distance: Double

    /// A request for every sample at the native rate.
    public static let everything = SensorRequest(rate: .infinity)

    /// Creates a request.
    public init(rate: Double, minimum: Double = 0, distance: Double = 0) {
        self.rate = rate
        self.minimum = minimum
        self.distance = distance
    }
}

/// The identity of a subscriber within a ``SensorGraph``.
public struct Subscriber: Hashable, Sendable {
    let number: Int
}

/// Samples for one subscriber.
public struct SensorOutput: Sendable, Equatable {
    /// The receiver.
    public let subscriber: Subscriber
    /// Samples of one stream.
    public let samples: SampleBlock
}
