/// Selects the first sample at or after each of the instants k · period since 1970: the newest sample at that time,
/// without delay.
///
/// A sample is always selected if its first value is missing and that of the previous sample was not, or vice versa: a
/// position was lost or found.
struct FirstSampleSelector: Sendable {
    private let rate: Double
    private var arrivalRate: RateEstimator
    private var lastInstant: Double?
    private var lastOutputTime = Int64.min
    private var hadValue: Bool?

    init(rate: Double) {
        self.rate = rate
        arrivalRate = RateEstimator(period: 1e6 / rate)
    }

    mutating func add(time: Int64, row: [Double], into output: inout SampleBlockBuilder) {
        arrivalRate.observe(time)
        guard time > lastOutputTime else { return }
        let instant = (Double(time) / 1e6 * rate).rounded(.down)
        let hasValue = !(row.first ?? .nan).isNaN
        guard instant != lastInstant || hasValue != hadValue || arrivalRate.isFaster == false else { return }
        lastInstant = instant
        lastOutputTime = time
        hadValue = hasValue
        output.append(time: time, row: row)
    }
}
