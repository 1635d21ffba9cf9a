/// Samples to a wanted rate: low-passed and decimated where they come faster, unchanged where they do not.
struct Averager: Sendable {
    private var meter: RateMeter
    private var grid: GridFilter
    /// Samples from before it was known how fast they come.
    private var undecided: [(time: Int64, row: [Double])] = []

    init(rate: Double, columnCount: Int) {
        meter = RateMeter(period: 1e6 / rate)
        grid = GridFilter(rate: rate, columnCount: columnCount)
    }

    mutating func take(time: Int64, row: [Double], into output: inout ColumnBuilder) {
        meter.observe(time)
        guard let isFaster = meter.isFaster else {
            undecided.append((time, row))
            return
        }
        takeUndecided(isFaster, into: &output)
        take(time: time, row: row, isFaster, into: &output)
    }

    mutating func finish(into output: inout ColumnBuilder) {
        meter.decide()
        takeUndecided(meter.isFaster ?? false, into: &output)
        grid.endSegment(into: &output)
    }

    private mutating func takeUndecided(_ isFaster: Bool, into output: inout ColumnBuilder) {
        guard !undecided.isEmpty else { return }
        for (time, row) in undecided { take(time: time, row: row, isFaster, into: &output) }
        undecided = []
    }

    private mutating func take(time: Int64, row: [Double], _ isFaster: Bool, into output: inout ColumnBuilder) {
        if isFaster {
            grid.take(time: time, row: row, meanInterval: meter.meanInterval ?? 0, into: &output)
        } else {
            grid.endSegment(into: &output)
            guard time > grid.lastGiven else { return }
            output.append(time: time, row: row)
            grid.skip(through: time)
        }
    }
}
