/// What a step detector takes for a step and for a walk.
///
/// One set for every place and person. With any one of them a tenth off, real walks with a phone are still counted
/// within 2 % on average, and work at a desk gives 10 steps a minute at most, mostly none; but a walk on the wrist of one
/// step in two seconds may then be off by half.
struct StepParameters: Sendable {
    /// The band of what swings with steps, in Hz: the fundamental of steps, without gravity's turning and without the
    /// ringing of each impact.
    var slowest = 0.9
    var fastest = 2.6
    /// The smallest swing, in g, while the signal repeats itself (a quiet walk with the device in the hand), and while
    /// it does not (hands are moved by more than that at a desk).
    var leastRegularSwing = 0.04
    var leastIrregularSwing = 0.155
    /// The periodicity from which on the signal repeats itself, and up to which it does not.
    var regular = 0.46
    var irregular = 0.33
    /// The part of the strength of recent swings that one has to reach, and how long, in s, that strength is
    /// remembered: the steps of one side may be much weaker than those of the other.
    var swingPart = 0.21
    var swingMemory = 6.5
    /// How far back the periodicity looks, in s: two strides of a slow walk.
    var window = 5.05
    /// The shortest and the longest time between two steps of a walk, in s.
    var shortestStep = 0.25
    var longestStep = 1.9
    /// So many swings in a row can be a walk.
    var steps = 9
    /// They are when their mean periodicity, less the spread (standard deviation) of the logarithms of their intervals
    /// times the weight, is at least the quality.
    var spreadWeight = 0.38
    var leastQuality = 0.31
    /// A walk ends when three swings rise to less than this part of its mean, which remembers so many s.
    var fading = 0.55
    var walkMemory = 20.0

    /// g: the less the signal repeats itself, the larger a swing has to be.
    func leastSwing(periodicity: Double) -> Double {
        let part = min(max((regular - periodicity) / (regular - irregular), 0), 1)
        return leastRegularSwing + part * (leastIrregularSwing - leastRegularSwing)
    }
}
