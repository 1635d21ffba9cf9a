/// Of samples that come faster than they are wanted, the first at or after each of the instants k · period since 1970:
/// the latest there is at that time, given without waiting.
///
/// A sample whose first value has come or gone is given in any case: a position that is lost, or found again.
struct Thinner: Sendable {
    private let rate: Double
    private var meter: RateMeter
    private var lastInstant: Double?
    private var lastGiven = Int64.min
    private var hadValue: Bool?

    init(rate: Double) {
        self.rate = rate
        meter = RateMeter(period: 1e6 / rate)
    }

    mutating func take(time: Int64, row: [Double], into output: inout ColumnBuilder) {
        meter.observe(time)
        guard time > lastGiven else { return }
        let instant = (Double(time) / 1e6 * rate).rounded(.down)
        let hasValue = !(row.first ?? .nan).isNaN
        guard instant != lastInstant || hasValue != hadValue || meter.isFaster == false else { return }
        lastInstant = instant
        lastGiven = time
        hadValue = hasValue
        output.append(time: time, row: row)
    }
}
