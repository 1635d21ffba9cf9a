import LockstepModel

extension RateControl {
    /// The rate in samples/s if neither the device nor the quantity determines one.
    static let defaultRate = 100.0

    /// Sets the lowest supported rate at or above `requested` samples/s.
    ///
    /// If the rate cannot be set, the current one remains: samples at a lower rate are better than none.
    /// - Returns: The rate in effect, nil if unknown; and the limitation to report, if any.
    func set(_ requested: Double) -> (rate: Double?, note: String?) {
        let choice =
            available?.choose(requested) ?? .init(rate: requested, text: SamplingRates.text(of: requested))
        var refusal: IIOError?
        if current != choice.rate {
            do throws(IIOError) { try folder.write(file, choice.text) } catch { refusal = error }
        }
        let rate = current
        guard let refusal, let rate, rate < choice.rate else { return (rate, nil) }
        return (rate, "the rate stays \(SamplingRates.text(of: rate)) Hz: \(refusal)")
    }

    /// Returns the native rate: the lowest supported rate at or above `standard` samples/s, or the current rate if the
    /// supported rates are unknown.
    func native(default standard: Double) -> Double? { available?.choose(standard)?.rate ?? current }

    /// Returns the rate to set for `requested` samples/s. An infinite value requests the native rate.
    func resolved(_ requested: Double, default standard: Double) -> Double {
        requested.isFinite ? requested : native(default: standard) ?? standard
    }
}

extension [IIOSensor] {
    /// Returns the fastest requested rate of the sensors that share a control.
    /// - Parameter rate: Returns the requested rate of a sensor in samples/s, or nil.
    func fastest(setBy control: RateControl, _ rate: (IIOSensor) -> Double?) -> Double? {
        filter { $0.rate?.file == control.file && $0.rate?.folder == control.folder }.compactMap(rate).max()
    }
}
