import LockstepModel

/// The values of a stream's columns that change no state of any rule: most values are far from all limits.
struct QuietRange {
    private struct Column {
        let number: Int
        var low = -Double.infinity
        var high = Double.infinity
    }

    private var columns: [Column] = []
    /// The rules that have to see each sample.
    private(set) var others: [Int] = []
    /// The longest gap between two samples that changes nothing, in µs.
    private(set) var maxGap = Int64.max

    /// Narrows the range by a rule in a state.
    mutating func add(_ rule: Rule, _ index: Int, _ state: RuleState) {
        guard case .value(let condition) = rule.condition, condition.aggregate == nil,
            state.isActive || state.since == nil
        else {
            others.append(index)
            return
        }
        maxGap = min(maxGap, rule.lateAfter)
        let position: Int
        if let known = columns.firstIndex(where: { $0.number == condition.column }) {
            position = known
        } else {
            position = columns.count
            columns.append(Column(number: condition.column))
        }
        switch (condition.isAbove, state.isActive) {
        case (true, false): columns[position].high = min(columns[position].high, condition.limit)
        case (true, true): columns[position].low = max(columns[position].low, condition.clear.nextUp)
        case (false, false): columns[position].low = max(columns[position].low, condition.limit)
        case (false, true): columns[position].high = min(columns[position].high, condition.clear.nextDown)
        }
    }

    /// Returns whether all known values of some rows are in the range.
    func contains(_ block: SampleBlock, _ rows: Range<Int>) -> Bool {
        for column in columns {
            let (low, high) = (column.low, column.high)
            let isOutside = block.columns[column.number].withUnsafeBufferPointer { values in
                // A comparison with NaN is false, so unknown values are inside.
                rows.contains { values[$0] < low || values[$0] > high }
            }
            if isOutside { return false }
        }
        return true
    }
}
