public import LockstepModel
public import LockstepSensors

/// The rates at which an agent publishes its streams in each phase.
public struct PublishingRates: Sendable, Hashable {
    /// The requests in foreground by stream. Streams without an entry use the default.
    public var foreground: [SensorStream: SensorRequest]
    /// The requests in background by stream. Streams without an entry use the default.
    public var background: [SensorStream: SensorRequest]

    /// Creates rates that differ from the defaults for the given streams.
    public init(
        foreground: [SensorStream: SensorRequest] = [:], background: [SensorStream: SensorRequest] = [:]
    ) {
        self.foreground = foreground
        self.background = background
    }

    /// Returns the requests to the sensors. A stream without an entry is not published.
    /// - Parameters:
    ///   - phase: the phase of the agent. Streams are only published in `foreground` and `background`.
    ///   - leased: the fastest leased rate of each stream, in samples a second.
    ///   - streams: the available streams.
    public func requests(
        in phase: Phase, leased: [SensorStream: Double], streams: [SensorStream]
    ) -> [SensorStream: SensorRequest] {
        guard phase == .foreground || phase == .background else { return [:] }
        var requests: [SensorStream: SensorRequest] = [:]
        for stream in streams {
            var request = phase == .foreground ? foregroundRequest(of: stream) : backgroundRequest(of: stream)
            if let rate = leased[stream] {
                // A lease has no distance filter: it promises its rate wherever the device is.
                request =
                    request.rate.isInfinite
                    ? SensorRequest(rate: .infinity, minimum: rate) : SensorRequest(rate: max(rate, request.rate))
            }
            if request.rate > 0 { requests[stream] = request }
        }
        return requests
    }

    private func foregroundRequest(of stream: SensorStream) -> SensorRequest {
        foreground[stream] ?? SensorRequest(rate: stream.defaultRate ?? .infinity)
    }

    private func backgroundRequest(of stream: SensorStream) -> SensorRequest {
        if let request = background[stream] { return request }
        let foreground = foregroundRequest(of: stream)
        // A stream that is off in the foreground stays off in the background.
        guard foreground.rate > 0 else { return SensorRequest(rate: 0) }
        switch stream.background {
        case .paused: return SensorRequest(rate: 0)
        case .unchanged: return .everything
        case .rate(let rate): return SensorRequest(rate: min(rate, foreground.rate))
        case .distance(let distance): return SensorRequest(rate: .infinity, distance: distance)
        }
    }
}
