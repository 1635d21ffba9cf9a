/// A round-robin schedule: each of `count` items has one turn per period, at evenly spaced times.
///
/// The next turn follows from a counter, so that the schedule needs no heap of deadlines for 100,000 devices.
struct RoundRobin {
    /// The number of items.
    let count: Int
    /// The time in which each item has one turn, in µs.
    let period: Int64
    /// The number of turns taken so far, which is also the number of the next turn.
    private(set) var turn: Int64 = 0

    /// Returns the time of a turn, in µs from the start.
    func time(ofTurn turn: Int64) -> Int64 {
        let (round, place) = turn.quotientAndRemainder(dividingBy: Int64(count))
        return round * period + place * period / Int64(count)
    }

    /// The time of the next turn, in µs from the start.
    var nextTime: Int64 { time(ofTurn: turn) }

    /// Takes the next turn if its time has come.
    /// - Parameter elapsed: the current time, in µs from the start.
    /// - Returns: the number of the turn, or nil if its time has not come.
    mutating func next(by elapsed: Int64) -> Int64? {
        guard elapsed >= nextTime else { return nil }
        defer { turn += 1 }
        return turn
    }

    /// Takes all turns whose time has come, and returns their items. Each item appears at most once, so turns that were
    /// missed for more than a period are skipped.
    /// - Parameter elapsed: the current time, in µs from the start.
    mutating func takeDueItems(by elapsed: Int64) -> [Int] {
        var items: [Int] = []
        while let turn = next(by: elapsed) {
            if items.count < count { items.append(Int(turn % Int64(count))) }
        }
        return items
    }
}
