/// A low pass of the first order: keeps what changes slowly, such as gravity.
///
/// y ← y + (1 − e^(−2π f Δt)) (x − y): the exact answer of an RC low pass to a value that was x all the time since the
/// sample before, for whatever interval Δt. −3 dB at the cut-off frequency f, within 0.3 dB where f is at most a tenth
/// of the rate; −20 dB a decade above. The first sample is taken as if it had been so for ever, hence there is no
/// settling from zero; so is the first after a gap (1 s or five time constants, whichever is longer).
public struct LowPassFilter: MotionFilter, Hashable {
    /// Hz.
    public let cutOff: Double

    private var clock: FilterClock
    private var output: SIMD3<Double>?

    /// - Parameter cutOff: Hz.
    /// - Precondition: `cutOff` is above 0.
    public init(cutOff: Double) {
        self.cutOff = cutOff
        clock = FilterClock(cutOff: cutOff)
    }

    public mutating func update(_ value: SIMD3<Double>, time: Int64) -> SIMD3<Double> {
        guard let before = output else {
            if case .begin = clock.step(value, time: time) { output = value }
            return value
        }
        let result: SIMD3<Double>
        switch clock.step(value, time: time) {
        case .begin: result = value
        case .goOn(let remaining): result = before + (1 - remaining) * (value - before)
        case .passOver: result = before
        }
        output = result
        return result
    }

    public mutating func reset() {
        clock.reset()
        output = nil
    }
}
