/// Kills of parts in random order, of which a seed repeats the same. A pure value.
struct RandomKills: Sendable {
    private let names: [String]
    /// How many kills are left.
    private(set) var left: Int

    /// - Parameters:
    ///   - names: the parts, at least two.
    ///   - count: how often one of them is killed.
    init(of names: [String], count: Int) {
        self.names = names
        left = count
    }

    /// Returns the next part to kill, or two, of which the second is killed before the first is started again, as in a third
    /// of the cases. Each has the time until what follows. Nothing if no kill is left.
    mutating func next(using generator: inout some RandomNumberGenerator) -> [(name: String, pause: Duration)] {
        let isPair = Int.random(in: 0..<3, using: &generator) == 0
        let killed = names.shuffled(using: &generator).prefix(min(left, isPair ? 2 : 1))
        left -= killed.count
        return killed.map { ($0, .milliseconds(Int.random(in: 100...4100, using: &generator))) }
    }
}
