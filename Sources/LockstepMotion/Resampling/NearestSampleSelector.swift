/// Selects the samples nearest to the instants k · period since 1970 and passes them on unchanged, with their own
/// times. For values that must not be averaged.
struct NearestSampleSelector: Sendable {
    private let rate: Double
    private var arrivalRate: RateEstimator
    /// The nearest sample to an instant so far. A nearer one may still arrive.
    private var candidate: (instant: Int64, distance: Double, time: Int64, row: [Double])?
    /// The last instant for which a sample was selected.
    private var finishedInstant: Int64?
    private var last: Int64?
    private var lastOutputTime = Int64.min

    init(rate: Double) {
        self.rate = rate
        arrivalRate = RateEstimator(period: 1e6 / rate)
    }

    mutating func add(time: Int64, row: [Double], into output: inout SampleBlockBuilder) {
        if let last, time <= last {
            if time == last { return }
            finish(into: &output)
        }
        last = time
        arrivalRate.observe(time)
        guard arrivalRate.isFaster ?? true else {
            finish(into: &output)
            emit(time: time, row: row, into: &output)
            return
        }
        let position = Double(time) / 1e6 * rate
        let instant = Int64(position.rounded())
        let distance = position - Double(instant)
        if let pending = candidate, pending.instant != instant { finish(into: &output) }
        guard instant != finishedInstant else { return }
        if let pending = candidate, abs(pending.distance) <= abs(distance) {
            // This sample and all later ones are at least as far from the instant.
            finish(into: &output)
        } else if distance >= 0 {
            candidate = nil
            finishedInstant = instant
            emit(time: time, row: row, into: &output)
        } else {
            candidate = (instant, distance, time, row)
        }
    }

    /// Emits the pending candidate, if any.
    mutating func finish(into output: inout SampleBlockBuilder) {
        guard let pending = candidate else { return }
        candidate = nil
        finishedInstant = pending.instant
        emit(time: pending.time, row: pending.row, into: &output)
    }

    private mutating func emit(time: Int64, row: [Double], into output: inout SampleBlockBuilder) {
        guard time > lastOutputTime else { return }
        lastOutputTime = time
        output.append(time: time, row: row)
    }
}
