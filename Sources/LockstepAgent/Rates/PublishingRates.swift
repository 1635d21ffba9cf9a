public import LockstepModel
public import LockstepSensors

/// How much of each stream an agent publishes in each phase.
public struct PublishingRates: Sendable, Hashable {
    /// What is told of a stream; of one that is not here the standard holds.
    public var foreground: [SensorStream: SensorRequest]
    public var background: [SensorStream: SensorRequest]

    /// Samples a second of `motion/device` unless told otherwise; everything else comes as its source gives it.
    public static let deviceMotionRate = 50.0
    /// m that a device in background has to move before its next location is published.
    public static let significantChange = 500.0

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
        return stream == .deviceMotion ? SensorRequest(rate: Self.deviceMotionRate) : .everything
    }

    private func backgroundRequest(of stream: SensorStream) -> SensorRequest {
        if let told = background[stream] { return told }
        // What is off in the foreground does not begin in background.
        if stream.pausesInBackground || foregroundRequest(of: stream).rate == 0 { return SensorRequest(rate: 0) }
        return stream == .location ? SensorRequest(rate: .infinity, distance: Self.significantChange) : .everything
    }
}
