/// Turns that a number of things take one after the other, evenly over a period, again and again.
struct Rotation {
    let count: Int
    /// µs in which each has its turn once.
    let period: Int64
    /// The turns taken so far.
    private(set) var turn: Int64 = 0

    /// µs from the begin to a turn.
    func due(_ turn: Int64) -> Int64 {
        let (round, place) = turn.quotientAndRemainder(dividingBy: Int64(count))
        return round * period + place * period / Int64(count)
    }

    /// µs from the begin to the next turn.
    var nextDue: Int64 { due(turn) }

    /// Takes the next turn if it is due `elapsed` µs after the begin.
    mutating func next(by elapsed: Int64) -> Int64? {
        guard elapsed >= nextDue else { return nil }
        defer { turn += 1 }
        return turn
    }

    /// Whose turns are due `elapsed` µs after the begin, each of them once: what was missed for more than a period is
    /// left out.
    mutating func takeDue(by elapsed: Int64) -> [Int] {
        var due: [Int] = []
        while let turn = next(by: elapsed) {
            if due.count < count { due.append(Int(turn % Int64(count))) }
        }
        return due
    }
}
