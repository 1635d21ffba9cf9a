public import LockstepModel
public import LockstepSensors

/// How much of each stream an agent publishes in each phase.
public struct PublishingRates: Sendable, Hashable {
    /// What is told of a stream; of one that is not here the standard holds.
    public var foreground: [SensorStream: SensorRequest]
    public var background: [SensorStream: SensorRequest]

    public init(
        foreground: [SensorStream: SensorRequest] = [:], background: [SensorStream: SensorRequest] = [:]
    ) {
        self.foreground = foreground
        self.background = background
    }

    /// What to ask for.
    /// - Parameters:
    ///   - leased: the fastest rate that a client leases of a stream, in samples a second.
    ///   - streams: those that there are.
    public func requests(
        in phase: Phase, leased: [SensorStream: Double], streams: [SensorStream]
    ) -> [SensorStream: SensorRequest] {
        guard phase == .foreground || phase == .background else { return [:] }
        var requests: [SensorStream: SensorRequest] = [:]
        for stream in streams {
            var request = phase == .foreground ? foregroundRequest(of: stream) : backgroundRequest(of: stream)
            if let rate = leased[stream] {
                // Who leases a rate wants the samples of that rate, wherever the device is.
                request =
                    request.rate.isInfinite
                    ? SensorRequest(rate: .infinity, minimum: rate) : SensorRequest(rate: max(rate, request.rate))
            }
            if request.rate > 0 { requests[stream] = request }
        }
        return requests
    }

    private func foregroundRequest(of stream: SensorStream) -> SensorRequest {
        if let told = foreground[stream] { return told }
        return SensorRequest(rate: stream.defaultRate ?? .infinity)
    }

    private func backgroundRequest(of stream: SensorStream) -> SensorRequest {
        if let told = background[stream] { return told }
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
