/// Reduces samples to the requested rate: low-pass filtered and decimated if they arrive faster, unchanged otherwise.
struct LowPassDecimator: Sendable {
    private var rate: RateEstimator
    private var grid: GridFilter
    /// Samples that arrived before the actual rate was known.
    private var undecided: [(time: Int64, row: [Double])] = []

    init(rate wantedRate: Double, columnCount: Int) {
        rate = RateEstimator(period: 1e6 / wantedRate)
        grid = GridFilter(rate: wantedRate, columnCount: columnCount)
    }

    mutating func add(time: Int64, row: [Double], into output: inout SampleBlockBuilder) {
        rate.observe(time)
        guard let isFaster = rate.isFaster else {
            undecided.append((time, row))
            return
        }
        flushUndecided(isFaster, into: &output)
        add(time: time, row: row, isFaster, into: &output)
    }

    mutating func finish(into output: inout SampleBlockBuilder) {
        rate.decide()
        flushUndecided(rate.isFaster ?? false, into: &output)
        grid.endSegment(into: &output)
    }

    private mutating func flushUndecided(_ isFaster: Bool, into output: inout SampleBlockBuilder) {
        guard !undecided.isEmpty else { return }
        for (time, row) in undecided { add(time: time, row: row, isFaster, into: &output) }
        undecided = []
    }

    private mutating func add(time: Int64, row: [Double], _ isFaster: Bool, into output: inout SampleBlockBuilder) {
        if isFaster {
            grid.add(time: time, row: row, meanInterval: rate.meanInterval ?? 0, into: &output)
        } else {
            grid.endSegment(into: &output)
            guard time > grid.lastOutputTime else { return }
            output.append(time: time, row: row)
            grid.skip(through: time)
        }
    }
}
