public import LockstepModel

/// A subscriber's request for one stream.
public struct SensorRequest: Sendable, Hashable {
    /// The rate in samples/s; `.infinity` requests every sample at the sensor's native rate.
    public var rate: Double
    /// The lowest acceptable rate of the sensor in samples/s, for a request of every sample.
    public var minimum: Double
    /// The distance in m between samples of the `location` stream; 0 requests all samples.
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
    /// The subscriber that receives the samples.
    public let subscriber: Subscriber
    /// The samples, all of one stream.
    public let samples: SampleBlock
}
