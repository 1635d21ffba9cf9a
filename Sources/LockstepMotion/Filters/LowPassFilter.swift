/// A first-order low-pass filter: keeps slow changes, such as gravity.
///
/// y ← y + (1 − e^(−2π f Δt)) (x − y): the exact response of an RC low-pass to an input that was x for the whole
/// interval Δt since the previous sample. The gain is −3 dB at the cut-off frequency f, within 0.3 dB if f is at most a
/// tenth of the sampling rate, and falls by 20 dB per decade above. The filter starts in the steady state of the first
/// sample, so it does not settle from zero. It restarts after a gap of more than 1 s or five time constants, whichever
/// is longer.
public struct LowPassFilter: MotionFilter, Hashable {
    /// The cut-off frequency, in Hz.
    public let cutOff: Double

    private var timing: FilterTiming
    private var output: SIMD3<Double>?

    /// Creates a filter in its initial state.
    ///
    /// - Parameter cutOff: the cut-off frequency, in Hz.
    /// - Precondition: `cutOff` is above 0.
    public init(cutOff: Double) {
        self.cutOff = cutOff
        timing = FilterTiming(cutOff: cutOff)
    }

    public mutating func update(_ value: SIMD3<Double>, time: Int64) -> SIMD3<Double> {
        guard let before = output else {
            if case .start = timing.step(value, time: time) { output = value }
            return value
        }
        let result: SIMD3<Double>
        switch timing.step(value, time: time) {
        case .start: result = value
        case .advance(let decay): result = before + (1 - decay) * (value - before)
        case .ignore: result = before
        }
        output = result
        return result
    }

    public mutating func reset() {
        timing.reset()
        output = nil
    }
}
