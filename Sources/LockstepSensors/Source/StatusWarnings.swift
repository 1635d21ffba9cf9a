/// Counts what could not be used as it came, for the status of a source: a warning is part of the status for a minute after
/// its last occurrence.
///
/// It may occur with each sample, so its text changes only when its count has doubled.
struct StatusWarnings<Kind: Hashable & CaseIterable & Sendable>: Sendable {
    private struct Entry {
        var count = 0
        var text = ""
        var last: Int64 = 0
    }

    /// How long a warning lasts after its last occurrence, in µs.
    static var duration: Int64 { 60_000_000 }

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

    /// Returns the current warnings, in the order of their kinds.
    func texts(at now: Int64) -> [String] {
        Kind.allCases.compactMap { entries[$0] }.filter { now - $0.last < Self.duration }.map(\.text)
    }
}
