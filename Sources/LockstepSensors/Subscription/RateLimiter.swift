import LockstepModel
import LockstepMotion

/// Reduces the samples of one stream to the rate, and to the distance between locations, that one subscriber requested.
struct RateLimiter: Sendable {
    private let stream: SensorStream
    private let request: SensorRequest
    /// The resampler; nil if every sample passes.
    private var resampler: Resampler?
    private var significantChange: SignificantChangeFilter?

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
        let changes = significantChange?.update(samples) ?? samples
        return resampler?.update(changes) ?? changes
    }

    /// Returns the pending samples and resets the limiter, so that earlier times are accepted again.
    mutating func finish() -> SampleBlock? {
        defer { self = RateLimiter(stream: stream, request: request) }
        return resampler?.finish()
    }
}
