import LockstepModel
import LockstepMotion

/// Gives one subscriber its rate of one stream.
struct RateLimiter: Sendable {
    private let stream: SensorStream
    private let request: SensorRequest
    /// nil gives everything.
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

    mutating func update(_ samples: SampleBlock) -> SampleBlock {
        let changes = significantChange?.update(samples) ?? samples
        return resampler?.update(changes) ?? changes
    }

    /// What is still under way; begins anew, also with earlier times.
    mutating func finish() -> SampleBlock? {
        defer { self = RateLimiter(stream: stream, request: request) }
        return resampler?.finish()
    }
}
