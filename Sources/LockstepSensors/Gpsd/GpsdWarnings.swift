/// What gpsd sent that could not be used as it came: counted, and part of the status for a minute after its last
/// occurrence.
///
/// It may occur with each report, so the text changes only when a count has doubled.
struct GpsdWarnings: Sendable {
    /// The kinds of warnings, in the order of their texts.
    enum Kind: CaseIterable, Sendable {
        /// A line that is not a report, or has an impossible value.
        case unreadable
        /// A fix without a time, whose timestamp would be the receiver's time.
        case untimed
        /// A step back of a receiver's time.
        case stepBack
    }

    private struct Entry {
        var count = 0
        var text = ""
        var last: Int64 = 0
    }

    /// How long a warning lasts after its last occurrence, in µs.
    static let duration: Int64 = 60_000_000

    private var entries: [Kind: Entry] = [:]

    /// Returns how often `kind` has occurred.
    func count(of kind: Kind) -> Int { entries[kind]?.count ?? 0 }

    /// Counts an occurrence at `now`, in µs.
    /// - Parameter text: The warning for a count.
    mutating func add(_ kind: Kind, at now: Int64, text: (Int) -> String) {
        var entry = entries[kind] ?? Entry()
        entry.count += 1
        entry.last = now
        if entry.count.nonzeroBitCount == 1 { entry.text = text(entry.count) }
        entries[kind] = entry
    }

    /// Returns the current warnings.
    func texts(at now: Int64) -> [String] {
        Kind.allCases.compactMap { entries[$0] }.filter { now - $0.last < Self.duration }.map(\.text)
    }
}
