/// Two ways to do the same, measured in turn so that whatever else the machine does falls on both.
struct Comparison {
    let name: String
    /// What is counted a second: `samples/s`.
    let unit: String
    let ours: Side
    let theirs: Side

    struct Side {
        let name: String
        /// Things a second, of each round.
        let rates: [Double]

        var median: Double {
            let sorted = rates.sorted()
            let middle = sorted.count / 2
            return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        }
    }

    /// Above 1 ours is the faster.
    var ratio: Double { ours.median / theirs.median }

    /// Runs `ours` and `theirs` in turn; each gives things a second.
    init(
        _ name: String, unit: String, rounds: Int, ours: (name: String, run: () throws -> Double),
        theirs: (name: String, run: () throws -> Double)
    ) throws {
        var rates: (ours: [Double], theirs: [Double]) = ([], [])
        for _ in 0..<rounds {
            rates.ours.append(try ours.run())
            rates.theirs.append(try theirs.run())
        }
        self.name = name
        self.unit = unit
        self.ours = Side(name: ours.name, rates: rates.ours)
        self.theirs = Side(name: theirs.name, rates: rates.theirs)
    }

    var text: String {
        let width = max(ours.name.count, theirs.name.count)
        func line(_ side: Side) -> String {
            let spread = "\(rounded(side.rates.min() ?? 0)) to \(rounded(side.rates.max() ?? 0))"
            let name = side.name + String(repeating: " ", count: width - side.name.count)
            return "  \(name)  \(rounded(side.median)) \(unit)  (\(spread), \(side.rates.count) rounds)\n"
        }
        return "\(name)\n" + line(ours) + line(theirs) + "  ratio \((ratio * 100).rounded() / 100)\n"
    }

    var json: String {
        func object(_ side: Side) -> String {
            let rates = side.rates.map { rounded($0) }.joined(separator: ",")
            return "{\"name\":\"\(side.name)\",\"median\":\(rounded(side.median)),\"rates\":[\(rates)]}"
        }
        return "{\"benchmark\":\"\(name)\",\"unit\":\"\(unit)\",\"ours\":\(object(ours)),"
            + "\"theirs\":\(object(theirs)),\"ratio\":\((ratio * 1000).rounded() / 1000)}\n"
    }

    private func rounded(_ rate: Double) -> String { "\(Int64(rate.rounded()))" }
}
