/// Of samples that come faster than they are wanted, those nearest to the instants k · period since 1970, unchanged and
/// with their own times: for values that must not be averaged.
struct NearestPicker: Sendable {
    private let rate: Double
    private var meter: RateMeter
    /// The best sample so far of an instant that may yet have a better one.
    private var candidate: (instant: Int64, distance: Double, time: Int64, row: [Double])?
    private var doneInstant: Int64?
    private var last: Int64?
    private var lastGiven = Int64.min

    init(rate: Double) {
        self.rate = rate
        meter = RateMeter(period: 1e6 / rate)
    }

    mutating func take(time: Int64, row: [Double], into output: inout ColumnBuilder) {
        if let last, time <= last {
            if time == last { return }
            finish(into: &output)
        }
        last = time
        meter.observe(time)
        guard meter.isFaster ?? true else {
            finish(into: &output)
            give(time: time, row: row, into: &output)
            return
        }
        let position = Double(time) / 1e6 * rate
        let instant = Int64(position.rounded())
        let distance = position - Double(instant)
        if let waiting = candidate, waiting.instant != instant { finish(into: &output) }
        guard instant != doneInstant else { return }
        if let waiting = candidate, abs(waiting.distance) <= abs(distance) {
            // This one lies as far behind the instant or further; those to come do so all the more.
            finish(into: &output)
        } else if distance >= 0 {
            candidate = nil
            doneInstant = instant
            give(time: time, row: row, into: &output)
        } else {
            candidate = (instant, distance, time, row)
        }
    }

    /// Gives what still waits.
    mutating func finish(into output: inout ColumnBuilder) {
        guard let waiting = candidate else { return }
        candidate = nil
        doneInstant = waiting.instant
        give(time: waiting.time, row: waiting.row, into: &output)
    }

    private mutating func give(time: Int64, row: [Double], into output: inout ColumnBuilder) {
        guard time > lastGiven else { return }
        lastGiven = time
        output.append(time: time, row: row)
    }
}
