public import LockstepModel

/// A walking body in place of hardware: a person who stands 3 s, walks about 28 s, and again, round a circle in a park.
///
/// Accelerometer, gyroscope and magnetometer at ``rate`` unless told otherwise, location once a second, on an exact grid of the boot clock
/// that begins when ``run(into:)`` is called. The same seed gives the same values, with the noise of plausible sensors;
/// a gyroscope bias is not simulated. After a suspend, or a receiver that was behind for longer, it goes on with the
/// last 10 s: older samples are left out.
public struct SimulatedSource: SensorSource {
    /// Chooses person, place, way of carrying, and noise.
    public let seed: UInt64
    /// Samples a second of the motion streams.
    public let rate: Double
    /// How long samples gather before they are handed over, in µs.
    public let linger: Int64

    /// How often it looks whether something is wanted again.
    private static let idleInterval = Duration.milliseconds(250)

    private let wanted = RequestedRates()

    /// A simulated source.
    /// - Parameters:
    ///   - rate: samples a second of each motion stream: above 0, at most 10,000.
    ///   - linger: how long samples gather before they are handed over, in µs, 1,000 at the least.
    /// - Precondition: `rate` is within its bounds.
    public init(seed: UInt64 = 1, rate: Double = 100, linger: Int64 = SourceOptions.defaultLinger) {
        precondition(rate > 0 && rate <= 10_000, "a rate of \(rate) samples a second can't be simulated")
        self.seed = seed
        self.rate = rate
        // Nothing wakes it when a sample is due: it looks every so often.
        self.linger = max(linger, 1000)
    }

    /// `simulate:SEED`.
    public var name: String { "simulate:\(seed)" }

    public var streams: [SensorStream] { [.accelerometer, .gyroscope, .magnetometer, .location] }

    public func sensors() -> [SensorDescription] {
        streams.map {
            SensorDescription(
                name: name, stream: $0, rates: $0 == .location ? 1...1 : 0.001...10_000, access: "simulated")
        }
    }

    public func nativeRate(of stream: SensorStream) -> Double? { stream == .location ? nil : rate }

    public func setRates(_ rates: [SensorStream: Double]) { wanted.set(rates) }

    /// Gives samples as they become due, until the task is cancelled; it never throws.
    public func run(into sink: any SampleSink) async {
        var schedule = SimulationSchedule(body: WalkingBody(seed: seed), rate: rate, start: Moment.now().boot)
        sink.report(.running, from: name)
        while !Task.isCancelled {
            if let rates = wanted.takeChange() { schedule.setRates(rates) }
            for block in schedule.take(through: Moment.now().boot) { await sink.accept(block, clock: .boot) }
            // Only a cancelled task wakes early, and the loop sees that.
            try? await Task.sleep(for: schedule.isIdle ? Self.idleInterval : .microseconds(linger))
        }
    }
}
