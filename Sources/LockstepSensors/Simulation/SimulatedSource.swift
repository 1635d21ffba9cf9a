public import LockstepModel

/// A simulated person with a device, in place of hardware: stands for 3 s, walks for about 28 s along a circle in a
/// park, and repeats; or does what another ``SimulatedMotion`` says.
///
/// The native rates are ``rate`` for accelerometer, gyroscope and magnetometer, and 1 Hz for location and pressure. The
/// battery is sampled on change and every five minutes. Samples lie on an exact grid of the boot clock that begins when
/// ``run(into:)`` is called. The same seed yields the same values, with plausible sensor noise; a gyroscope bias is not
/// simulated. After a suspend, or after the consumer was behind for more than 10 s, samples older than 10 s are
/// skipped.
public struct SimulatedSource: SensorSource {
    /// The seed, which selects the person, the place, how the device is carried, and the noise.
    public let seed: UInt64
    /// What the person does.
    public let motion: SimulatedMotion
    /// The native rate of the motion streams, in samples/s.
    public let rate: Double
    /// The time for which samples are collected before they are delivered, in µs.
    public let linger: Int64

    /// The interval at which requests are checked while no stream is requested.
    private static let idleInterval = Duration.milliseconds(250)

    private let requested = RequestedRates()

    /// Creates a source that simulates one person.
    /// - Parameters:
    ///   - seed: Selects the person, the place, how the device is carried, and the noise.
    ///   - rate: The native rate of each motion stream in samples/s: above 0, at most 10,000.
    ///   - linger: How long samples are collected before they are delivered, in µs; values below 1,000 become 1,000.
    ///   - motion: What the person does.
    /// - Precondition: `rate` is within its range.
    public init(
        seed: UInt64 = 1, rate: Double = 100, linger: Int64 = SourceOptions.defaultLinger,
        motion: SimulatedMotion = .walk
    ) {
        precondition(rate > 0 && rate <= 10_000, "cannot simulate \(rate) samples/s")
        self.seed = seed
        self.motion = motion
        self.rate = rate
        // The loop of run() polls at this interval.
        self.linger = max(linger, 1000)
    }

    /// The name of the source, `simulate:SEED` for a walk, `simulate:SEED:MOTION` for another motion.
    public var name: String { "simulate:\(seed)" + (motion == .walk ? "" : ":\(motion.rawValue)") }

    /// The simulated streams.
    public var streams: [SensorStream] { SimulatedSensor.streams }

    /// Returns one description per stream.
    public func sensors() -> [SensorDescription] {
        streams.map {
            SensorDescription(
                name: name, stream: $0, rates: SimulatedSensor.rates(of: $0), access: "simulated")
        }
    }

    /// Returns the rate in samples/s when none is requested; nil if it cannot be changed.
    public func nativeRate(of stream: SensorStream) -> Double? {
        let isFixed = SimulatedSensor.rates(of: stream).map { $0.lowerBound == $0.upperBound } ?? true
        return isFixed ? nil : SimulatedSensor.nativeRate(of: stream, motionRate: rate)
    }

    /// Sets the requested rates in samples/s.
    public func setRates(_ rates: [SensorStream: Double]) { requested.set(rates) }

    /// Delivers samples until the task is cancelled. Never throws.
    public func run(into sink: any SampleSink) async {
        var schedule = SimulationSchedule(
            body: WalkingBody(seed: seed, motion: motion), rate: rate, start: Moment.now().boot)
        sink.report(.running, from: name)
        while !Task.isCancelled {
            if let rates = requested.takeChange() { schedule.setRates(rates) }
            for block in schedule.take(through: Moment.now().boot) { await sink.accept(block, clock: .boot) }
            // Only cancellation ends the sleep early, and the loop checks for it.
            try? await Task.sleep(for: schedule.isIdle ? Self.idleInterval : .microseconds(linger))
        }
    }
}

/// The streams and rates of the simulator's sensors.
enum SimulatedSensor {
    static let streams: [SensorStream] = [.accelerometer, .gyroscope, .magnetometer, .location, .pressure, .battery]

    /// Returns the supported rates of a stream, in samples/s; nil if it is not simulated.
    static func rates(of stream: SensorStream) -> ClosedRange<Double>? {
        switch stream {
        case .accelerometer, .gyroscope, .magnetometer: 0.001...10_000
        case .pressure: 0.001...100
        case .location, .battery: 1...1
        default: nil
        }
    }

    /// Returns the rate of a stream when none is requested, in samples/s; nil if it is not simulated.
    /// - Parameter motionRate: The native rate of accelerometer, gyroscope and magnetometer.
    static func nativeRate(of stream: SensorStream, motionRate: Double) -> Double? {
        rates(of: stream).map { $0.upperBound == 10_000 ? motionRate : 1 }
    }
}
