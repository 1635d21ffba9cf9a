/// The parameters of the step detector.
///
/// One set of values serves all placements and people. With any single parameter 10 % off, recorded walks with a phone
/// are still counted within 2 % on average, and desk work gives at most 10 false steps a minute, mostly none. Only slow
/// walks with a sensor on the wrist, at one step in two seconds, may then be off by half.
struct StepParameters: Sendable {
    /// The lower limit of the band of step frequencies, in Hz. Frequencies below it are changes of orientation.
    var lowCutOff = 0.9
    /// The upper limit of the band of step frequencies, in Hz. Frequencies above it are the ringing of impacts.
    var highCutOff = 2.6
    /// The smallest swing in a periodic signal, in g (a gentle walk with the device in the hand).
    var minRegularSwing = 0.04
    /// The smallest swing in a signal without period, in g. Hand movements at a desk are stronger than a gentle walk.
    var minIrregularSwing = 0.155
    /// The periodicity from which the signal counts as periodic.
    var regularPeriodicity = 0.46
    /// The periodicity up to which the signal counts as without period.
    var irregularPeriodicity = 0.33
    /// The fraction of the strength of recent swings that a swing must reach: the steps of one foot may be much weaker
    /// than those of the other.
    var swingFraction = 0.21
    /// The time constant with which the strength of recent swings decays, in s.
    var swingDecayTime = 6.5
    /// The window of the periodicity, in s: two strides of a slow walk.
    var periodicityWindow = 5.05
    /// The shortest time between two steps of a walk, in s.
    var minStepInterval = 0.25
    /// The longest time between two steps of a walk, in s.
    var maxStepInterval = 1.9
    /// The number of consecutive swings that can form a walk.
    var minWalkSwings = 9
    /// The swings form a walk if their mean periodicity, minus `spreadWeight` times the standard deviation of the
    /// logarithms of their intervals, is at least `minQuality`.
    var spreadWeight = 0.38
    var minQuality = 0.31
    /// A walk ends when the mean rise of three swings falls below `fadingRatio` times the mean of the walk, which is an
    /// exponential mean with the time constant `walkTimeConstant` in s.
    var fadingRatio = 0.55
    var walkTimeConstant = 20.0

    /// The smallest strength of gait at the frequencies of steps, in g. A car on a good road has 0.02 to 0.05.
    var minStrength = 0.05
    /// The largest strength above the frequencies of steps, as a multiple of that of the steps. A bicycle on a rough road has
    /// 1.7 to 2.5, a shaken phone 2.7, and a sensor at the wrist of a runner at most 1.5.
    var maxVibration = 1.7
    /// The largest ratio of movements across gravity to those along it. Walks have at most 1.7, and a hand that claps,
    /// steers or brushes teeth more than 2.
    var maxSideways = 1.8
    /// The smallest mean periodicity. A movement weaker than `strongMovement`, in g, may be less regular by `peakAllowance`
    /// times its mean skewness: slow steps at the wrist are short peaks, with a skewness of 0.9, and hands have about 0.
    var minRegularity = 0.5
    var strongMovement = 0.15
    var peakAllowance = 0.15
    /// Pedals: the correlation of impacts from one period to the next, plus `sidewaysWeight` times the ratio of movements
    /// across gravity to those along it, plus `skewnessWeight` times the skewness, is 0.1 to 0.4; gait has 0.6 to 1.
    var sidewaysWeight = 0.35
    var skewnessWeight = 0.15
    var minFootfall = 0.48
    /// The time constants of the strengths, and of what is judged twice a second, in s.
    var strengthTime = 4.0
    var evidenceTime = 8.0

    /// Returns the smallest swing that counts, in g: the lower the periodicity, the larger the swing must be.
    func minSwing(periodicity: Double) -> Double {
        let irregularity = min(
            max((regularPeriodicity - periodicity) / (regularPeriodicity - irregularPeriodicity), 0), 1)
        return minRegularSwing + irregularity * (minIrregularSwing - minRegularSwing)
    }
}
