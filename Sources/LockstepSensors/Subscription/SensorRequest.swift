public import LockstepModel

/// How much of a stream someone asks for.
public struct SensorRequest: Sendable, Hashable {
    /// Samples a second; `.infinity` is every sample as it comes.
    public var rate: Double
    /// Samples a second that the sensor is to have at least, where every sample is asked for.
    public var minimum: Double
    /// For locations: m to have moved before the next is given. 0 asks for all.
    public var distance: Double

    /// Every sample, as it comes.
    public static let everything = SensorRequest(rate: .infinity)

    public init(rate: Double, minimum: Double = 0, distance: Double = 0) {
        self.rate = rate
        self.minimum = minimum
        self.distance = distance
    }
}

/// One who asks sensors for samples.
public struct Subscriber: Hashable, Sendable {
    let number: Int
}

/// Samples for one subscriber.
public struct SensorOutput: Sendable, Equatable {
    public let subscriber: Subscriber
    public let samples: SampleBlock
}
