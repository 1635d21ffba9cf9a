import LockstepModel
import LockstepMotion

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
