public import LockstepModel
import LockstepMotion

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

/// Reduces the samples of one stream to the rate, and to the distance between locations, that one subscriber requested.
struct RateLimiter: Sendable {
    private let stream: SensorStream
    private let request: SensorRequest
    /// The resampler; nil if every sample passes.
    private var resampler: Resampler?
    private var significantChange: SignificantChangeFilter?
    /// The time of the last sample.
    private var last: Int64?
    /// A larger step back of the time, in µs, is the correction of a wrong time of the source.
    private static let largestDisorder: Int64 = 10_000_000

    init(stream: SensorStream, request: SensorRequest) {
        self.stream = stream
        self.request = request
        if stream == .location, request.distance > 0 {
            significantChange = SignificantChangeFilter(distance: request.distance)
        }
        resampler = request.rate.isInfinite ? nil : Resampler(stream: stream, rate: request.rate)
    }

    /// Returns the samples that are complete after `samples`.
    mutating func update(_ samples: SampleBlock) -> SampleBlock {
        var rest: SampleBlock?
        if let first = samples.times.first, let last, first < last - Self.largestDisorder {
            // Otherwise the resampler would drop all samples up to the time that was wrong.
            rest = resampler?.finish()
            resampler = resampler.map { Resampler(stream: stream, rate: $0.rate) }
        }
        last = samples.times.last ?? last
        let changes = significantChange?.update(samples) ?? samples
        let output = resampler?.update(changes) ?? changes
        guard var rest else { return output }
        rest.append(contentsOf: output)
        return rest
    }

    /// Returns the pending samples and resets the limiter, so that earlier times are accepted again.
    mutating func finish() -> SampleBlock? {
        defer { self = RateLimiter(stream: stream, request: request) }
        return resampler?.finish()
    }
}
