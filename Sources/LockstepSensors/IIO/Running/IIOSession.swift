import LockstepModel

/// A sensor that runs: from when it was set up until it is stopped.
protocol IIOSession {
    /// Waits until there are samples or `waker` is woken, and takes them.
    /// - Returns: samples with times of the boot clock; none where it was woken, or where none is a measurement.
    /// - Throws: ``IIOError`` if the sensor is gone.
    mutating func next(_ waker: WakePipe) throws(IIOError) -> [SampleBlock]

    /// How the sensors are; without those that have not said anything yet.
    var statuses: [SensorStream: SourceStatus] { get }

    /// The sensors that have said anything but zero: what a session that follows is to know.
    var proven: Set<SensorStream> { get }

    /// Takes what there is without waiting: stopping throws it away.
    mutating func takeRest() -> [SampleBlock]

    /// Switches off what was switched on; to be called on every path.
    mutating func stop()
}

extension IIOSession {
    mutating func takeRest() -> [SampleBlock] { [] }

    var proven: Set<SensorStream> { [] }
}

extension RateControl {
    /// Sets the nearest rate at or above `wanted` samples a second.
    ///
    /// A rate that can't be set stays as it is: slower samples are better than none.
    /// - Returns: the rate that there is now, nil where nobody knows; and what is to be said of it.
    func set(_ wanted: Double) -> (rate: Double?, note: String?) {
        let choice =
            available?.choose(wanted) ?? .init(rate: wanted, text: SamplingRates.text(of: wanted))
        var refusal: IIOError?
        if current != choice.rate {
            do throws(IIOError) { try folder.write(file, choice.text) } catch { refusal = error }
        }
        let rate = current
        guard let refusal, let rate, rate < choice.rate else { return (rate, nil) }
        return (rate, "its rate stays \(SamplingRates.text(of: rate)) Hz: \(refusal)")
    }

    /// The rate where nobody says which: moderate, since some sensors go up to thousands.
    static let usual = 100.0

    /// The rate that the source goes by itself.
    var own: Double? { available?.choose(Self.usual)?.rate ?? current }

    /// The rate to set where `wanted` is asked, in which infinite means ``own``.
    func resolved(_ wanted: Double) -> Double { wanted.isFinite ? wanted : own ?? Self.usual }
}

extension [IIOSensor] {
    /// The fastest rate that is wanted of any of those that `control` sets: where several share a rate, all get it.
    /// - Parameter rate: samples a second that are wanted of a sensor; nil for none.
    func fastest(setBy control: RateControl, _ rate: (IIOSensor) -> Double?) -> Double? {
        filter { $0.rate?.file == control.file && $0.rate?.folder == control.folder }.compactMap(rate).max()
    }
}
