/// A step of a walk.
public struct Step: Sendable, Hashable {
    /// The time of the step's peak in µs, about 40 ms after the foot strike.
    public var time: Int64
    /// The time of the previous step, in µs. For the first step of a walk: ``time`` minus the mean duration of a step.
    public internal(set) var start: Int64
    /// The rise of the acceleration to the step's peak, in g.
    public var rise: Double
}

/// Detects steps in the magnitude of an accelerometer, for any placement and orientation of the device.
///
/// The magnitude is resampled to 50 Hz and band-pass filtered. Peaks above a threshold are candidates ("swings").
/// Candidates are steps if they belong to a walk: several in a row, at regular intervals, in a signal whose
/// autocorrelation shows a period. The first steps of a walk are credited together about five seconds after its start;
/// each later step is reported at once.
///
/// An extra peak per stride, as from a device that rebounds in a loose pocket, is rejected (`CadenceLimiter`): on
/// recorded walks with such peaks added, the mean error is 3 % instead of 8 %.
///
/// Sensors of 20 to 500 Hz, evenly sampled or not, yield the same count within one or two steps per walk. A gap of more
/// than 1 s between samples resets the detector. Walks of eight steps or less are not detected.
///
/// Measured: 15 walks with phones in eight placements, mean error 1.3 %, worst 4.8 %; six walks with a sensor on the
/// wrist, worst 3.8 %; no false step in 4.5 minutes of desk work. Below one step a second, a walk with a sensor on the
/// wrist is hardly more regular than desk work; such recordings may be off by a quarter or a half. Other periodic
/// movement (a rocking chair) is counted as a walk.
public struct StepDetector: Sendable {
    /// Whether the newest samples belong to a walk.
    public var isWalking: Bool { gate.isWalking(at: resampler.time) }

    private let parameters: StepParameters
    private var resampler = AccelerationResampler()
    private var band: BandPass
    private(set) var periodicity: Periodicity
    private var swings: SwingDetector
    private(set) var evidence: GaitEvidence
    private var gate: StepGate

    /// Creates a detector in its initial state.
    public init() { self.init(parameters: StepParameters()) }

    init(parameters: StepParameters) {
        self.parameters = parameters
        band = BandPass(from: parameters.lowCutOff, to: parameters.highCutOff)
        periodicity = Periodicity(seconds: parameters.periodicityWindow)
        swings = SwingDetector(fraction: parameters.swingFraction, decayTime: parameters.swingDecayTime)
        evidence = GaitEvidence(parameters: parameters)
        gate = StepGate(parameters: parameters)
    }

    /// Processes an accelerometer sample.
    ///
    /// - Parameters:
    ///   - time: the time of the sample in µs, of any clock. Samples that are not finite or not later than the previous
    ///     one are ignored.
    ///   - x: the acceleration along the x axis in g, of either sign convention; `y` and `z` likewise.
    ///   - steps: newly recognised steps are appended in order of time. Most calls append none.
    public mutating func update(time: Int64, x: Double, y: Double, z: Double, into steps: inout [Step]) {
        switch resampler.add(time: time, x: x, y: y, z: z) {
        case .ignored: return
        case .starts:
            band.reset()
            periodicity.reset()
            swings.reset()
            evidence.reset()
            gate.reset()
        case .continues:
            while let sample = resampler.next() { process(sample, into: &steps) }
        }
    }

    private mutating func process(_ sample: SIMD4<Double>, into steps: inout [Step]) {
        let value = band.update(sample.w)
        evidence.update(sample)
        if periodicity.update(value) { evidence.evaluate(periodicity) }
        let minSwing = parameters.minSwing(periodicity: periodicity.value)
        let time = resampler.time - AccelerationResampler.cell / 2
        guard let swing = swings.update(value, time: time, minSwing: minSwing) else { return }
        guard evidence.strength >= parameters.minStrength else { return gate.end() }
        let isGait = evidence.allowsGait(isWalking: gate.isOpen)
        gate.update(swing, periodicity: periodicity, isGait: isGait, into: &steps)
    }
}
