/// Which collectors of a cluster have which shares of the devices, by their logs. A pure value.
struct ShareOwners: Hashable, Sendable {
    private var shares: [String: Set<String>] = [:]

    /// Takes in a line that a collector has logged.
    mutating func read(_ line: some StringProtocol, of collector: String) {
        guard let word = line.split(separator: " ").first(where: { $0.hasPrefix("share=") }) else { return }
        let share = String(word.dropFirst(6))
        if line.contains("share taken over") { shares[collector, default: []].insert(share) }
        if line.contains("share lost") || line.contains("share released") { shares[collector]?.remove(share) }
    }

    /// A collector has ended, and has no shares.
    mutating func didEnd(_ collector: String) { shares[collector] = nil }

    /// The shares of a collector.
    func shares(of collector: String) -> Set<String> { shares[collector] ?? [] }

    /// The shares that some collector has, sorted; twice if two of them have logged so.
    var all: [String] { shares.values.flatMap(\.self).sorted() }
}
