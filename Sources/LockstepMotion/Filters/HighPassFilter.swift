/// A high pass of the first order: keeps what changes fast, such as what a hand does beside gravity.
///
/// y ← e y + ½ (1 + e) (x − x₋₁) with e = e^(−2π f Δt): the pole of an RC high pass at its exact place for whatever
/// interval Δt, and gain 1 for the fastest change that the samples can show (the matched z-transform). −3 dB at the
/// cut-off frequency f, within 0.3 dB where f is at most a tenth of the rate; −20 dB a decade below. The first sample
/// gives zero, as does the first after a gap (1 s or five time constants, whichever is longer).
public struct HighPassFilter: MotionFilter, Hashable {
    /// Hz.
    public let cutOff: Double

    private var clock: FilterClock
    private var state: State?

    private struct State: Hashable {
        var input: SIMD3<Double>
        var output: SIMD3<Double>
    }

    /// - Parameter cutOff: Hz.
    /// - Precondition: `cutOff` is above 0.
    public init(cutOff: Double) {
        self.cutOff = cutOff
        clock = FilterClock(cutOff: cutOff)
    }

    public mutating func update(_ value: SIMD3<Double>, time: Int64) -> SIMD3<Double> {
        let step = clock.step(value, time: time)
        switch (step, state) {
        case (.passOver, let state): return state?.output ?? value
        case (.goOn(let remaining), let before?):
            let change = value - before.input
            let output = remaining * before.output + (0.5 * (1 + remaining)) * change
            state = State(input: value, output: output)
            return output
        default:
            state = State(input: value, output: SIMD3(0, 0, 0))
            return SIMD3(0, 0, 0)
        }
    }

    public mutating func reset() {
        clock.reset()
        state = nil
    }
}
