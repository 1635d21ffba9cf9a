import Glibc

/// Tells gait from other movements that are periodic or strong, by what legs and feet do to a body.
///
/// | Movement | is not gait because |
/// |---|---|
/// | a vehicle, a lift, a table | it is too weak |
/// | a rough road | most of its power is above the frequencies of steps |
/// | a shake | it has two swings within the shortest time of a step |
/// | clapping, steering, brushing teeth | it is across gravity; steps lift and drop the body |
/// | folding clothes, a handlebar | it is strong, and still not regular |
/// | a hand that moves about | it is not regular, and without the short peaks of feet that push a body up |
/// | pedalling | it swings along gravity once a turn, with a dip where the knee is highest and without impacts of feet |
struct GaitEvidence: Sendable {
    private let parameters: StepParameters
    /// The direction and strength of gravity, in g; nil before the first value.
    private(set) var gravity: SIMD3<Double>?
    private var magnitudeBand = BandPass(from: GaitEvidence.steps.from, to: GaitEvidence.steps.to)
    private var axisBands = [BandPass](
        repeating: BandPass(from: GaitEvidence.steps.from, to: GaitEvidence.steps.to), count: 3)
    private var impactBand = BandPass(from: 4, to: 15)
    private var envelopeBand = BandPass(from: 0.3, to: 4)
    /// How strong the impacts were over time: the envelope of the frequencies above those of steps.
    private var envelope: SignalWindow
    /// The magnitude at the frequencies of steps. A high-pass filter close to them would change the shape of a swing.
    private var shapeBand = BandPass(from: 0.1, to: 2.6)
    private var shape: SignalWindow
    /// The mean skewness of the magnitude.
    private var peaks = 0.0
    /// The mean squares of the last seconds, in g²: of the magnitude at the frequencies of steps and above, and of the
    /// acceleration at the frequencies of steps along and across gravity.
    private(set) var powers = SIMD4<Double>.zero
    /// The mean periodicity; nil before the first evaluation.
    private(set) var regularity: Double?
    /// Positive if the signal is that of feet rather than that of pedals.
    private var footfall = 0.0

    /// The frequencies of steps with their first overtones, in Hz.
    private static let steps = (from: 0.5, to: 4.0)
    /// The time constant of gravity, in s.
    private static let gravityTime = 1.0
    /// The periods in s that can be that of a stride, or a turn of pedals.
    private static let strides = 0.7...1.6
    /// The period of the fastest stride, in s. Within a shorter one there is one step.
    private static let fastestStride = 0.58
    /// The correlation at half a period up to which a period has only one swing.
    private static let maxHalfway = 0.25
    /// The largest footfall of one evaluation, so that a bout of pedalling is not outweighed by a single one.
    private static let maxFootfall = 0.1

    private static func share(_ seconds: Double, of time: Double) -> Double { 1 - exp(-seconds / time) }

    init(parameters: StepParameters) {
        self.parameters = parameters
        envelope = SignalWindow(seconds: parameters.periodicityWindow)
        shape = SignalWindow(seconds: parameters.periodicityWindow)
    }

    /// The strength at the frequencies of steps: the root mean square of the magnitude, in g.
    var strength: Double { powers.x.squareRoot() }
    /// The strength above the frequencies of steps, in g.
    var vibration: Double { powers.y.squareRoot() }
    /// The ratio of movements across gravity to those along it; nil for a magnitude without direction.
    var sideways: Double? { powers.w > 1e-9 ? (powers.w / powers.z).squareRoot() : nil }
    /// Whether the swings are faster than steps.
    private var isTooFast = false
    /// Whether the signal swings like pedals.
    var isPedalling: Bool { footfall < 0 }

    /// Adds the next resampled acceleration with its magnitude.
    mutating func update(_ sample: SIMD4<Double>) {
        let vector = SIMD3(sample.x, sample.y, sample.z)
        let interval = 1 / AccelerationResampler.rate
        let before = gravity ?? vector
        let down = before + (vector - before) * Self.share(interval, of: Self.gravityTime)
        gravity = down
        let swing = SIMD3(
            axisBands[0].update(sample.x), axisBands[1].update(sample.y), axisBands[2].update(sample.z))
        let vertical = dot(swing, down) / max(length(down), 1e-6)
        let magnitude = magnitudeBand.update(sample.w)
        let impact = impactBand.update(sample.w)
        let weight = Self.share(interval, of: parameters.strengthTime)
        let across = max(dot(swing, swing) - vertical * vertical, 0)
        powers += (SIMD4(magnitude * magnitude, impact * impact, vertical * vertical, across) - powers) * weight
        shape.update(shapeBand.update(sample.w))
        envelope.update(envelopeBand.update(abs(impact)))
    }

    /// Judges the last seconds, twice a second.
    mutating func evaluate(_ periodicity: Periodicity) {
        let weight = Self.share(0.5, of: parameters.evidenceTime)
        regularity = regularity.map { $0 + (periodicity.value - $0) * weight } ?? periodicity.value
        // A single knock has a skewness of several units.
        let skewness = min(max(shape.skewness, -1), 1)
        peaks += (skewness - peaks) * weight
        isTooFast = periodicity.halfway > 0.5 && periodicity.fundamentalPeriod ?? .infinity < Self.fastestStride
        var sign = Self.maxFootfall
        if let period = periodicity.fundamentalPeriod, Self.strides.contains(period),
            periodicity.halfway < Self.maxHalfway, let sideways
        {
            let impacts = envelope.correlation(near: period)
            sign = min(
                sign,
                impacts + parameters.sidewaysWeight * sideways + parameters.skewnessWeight * skewness
                    - parameters.minFootfall)
        }
        footfall += (sign - footfall) * weight
    }

    /// Whether the movement can be gait.
    ///
    /// - Parameter isWalking: whether it was gait until now. A walk is not ended by one irregular turn.
    func allowsGait(isWalking: Bool) -> Bool {
        guard vibration <= parameters.maxVibration * strength, sideways ?? 0 <= parameters.maxSideways, !isPedalling,
            !isTooFast
        else { return false }
        let allowance = strength > parameters.strongMovement ? 0 : parameters.peakAllowance * peaks
        return (regularity ?? 0) >= (isWalking ? 0.9 : 1) * (parameters.minRegularity - allowance)
    }

    mutating func reset() { self = GaitEvidence(parameters: parameters) }
}
