/// The rows of a run that an observer has to evaluate.
struct NewRows {
    /// The times of samples that were evaluated, although they may not be stored.
    private let evaluated: Set<Int64>
    /// The indices of new rows. The times of each range increase.
    private(set) var ranges: [Range<Int>] = []
    /// The times of rows that were evaluated earlier.
    private(set) var resolved: [Int64] = []
    private var lastTime = Int64.min

    init(evaluated: Set<Int64>) { self.evaluated = evaluated }

    /// Returns whether the sample with a time was evaluated earlier, and records that it is stored now.
    mutating func resolve(_ time: Int64) -> Bool {
        guard !evaluated.isEmpty, evaluated.contains(time) else { return false }
        resolved.append(time)
        return true
    }

    /// Adds a new row.
    mutating func append(_ index: Int, _ time: Int64) {
        if let open = ranges.last, open.upperBound == index, lastTime < time {
            ranges[ranges.count - 1] = open.lowerBound..<index + 1
        } else {
            ranges.append(index..<index + 1)
        }
        lastTime = time
    }
}
