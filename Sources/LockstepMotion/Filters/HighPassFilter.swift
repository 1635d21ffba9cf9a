/// A first-order high-pass filter: keeps fast changes, such as hand movements on top of gravity.
///
/// y ← e y + ½ (1 + e) (x − x₋₁) with e = e^(−2π f Δt): the pole of an RC high-pass at its exact place for any interval
/// Δt, and gain 1 at the Nyquist frequency (the matched z-transform). The gain is −3 dB at the cut-off frequency f,
/// within 0.3 dB if f is at most a tenth of the sampling rate, and falls by 20 dB per decade below. The first output is
/// zero. The filter restarts after a gap of more than 1 s or five time constants, whichever is longer.
public struct HighPassFilter: MotionFilter, Hashable {
    /// The cut-off frequency, in Hz.
    public let cutOff: Double

    private var timing: FilterTiming
    private var state: State?

    private struct State: Hashable {
        var input: SIMD3<Double>
        var output: SIMD3<Double>
    }

    /// Creates a filter in its initial state.
    ///
    /// - Parameter cutOff: the cut-off frequency, in Hz.
    /// - Precondition: `cutOff` is above 0.
    public init(cutOff: Double) {
        self.cutOff = cutOff
        timing = FilterTiming(cutOff: cutOff)
    }

    public mutating func update(_ value: SIMD3<Double>, time: Int64) -> SIMD3<Double> {
        let step = timing.step(value, time: time)
        switch (step, state) {
        case (.ignore, let state): return state?.output ?? value
        case (.advance(let decay), let before?):
            let change = value - before.input
            let output = decay * before.output + (0.5 * (1 + decay)) * change
            state = State(input: value, output: output)
            return output
        default:
            state = State(input: value, output: SIMD3(0, 0, 0))
            return SIMD3(0, 0, 0)
        }
    }

    public mutating func reset() {
        timing.reset()
        state = nil
    }
}
