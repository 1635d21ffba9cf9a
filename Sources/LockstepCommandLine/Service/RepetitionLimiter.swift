/// Limits repeated log events: the first few of each kind within a minute pass, the others are counted.
///
/// The time is a parameter, so that decisions are deterministic in tests.
struct RepetitionLimiter<Key: Hashable & Sendable>: Sendable {
    /// The number of events of one kind that pass within ``window``.
    static var maxPassed: Int { 5 }
    /// The time over which events of one kind are counted.
    static var window: Duration { .seconds(60) }
    /// The number of kinds counted at the same time; events of further kinds pass.
    private static var maxKinds: Int { 1000 }

    /// The number of suppressed events of one kind.
    struct Summary: Sendable, Equatable {
        let key: Key
        let count: Int
    }

    /// The events of one kind since the start of its window.
    private struct Count {
        let since: ContinuousClock.Instant
        var count = 0
    }

    private var counts: [Key: Count] = [:]
    /// The end of the earliest window.
    private var nextEnd: ContinuousClock.Instant?

    init() {}

    /// Counts an event and returns whether it passes.
    mutating func shouldPass(_ key: Key, at now: ContinuousClock.Instant) -> Bool {
        guard counts[key] != nil || counts.count < Self.maxKinds else { return true }
        counts[key, default: Count(since: now)].count += 1
        nextEnd = nextEnd ?? now + Self.window
        return counts[key].map { $0.count <= Self.maxPassed } ?? true
    }

    /// Removes and returns the summaries of all windows that have ended, in the order of their start.
    mutating func takeSummaries(at now: ContinuousClock.Instant) -> [Summary] {
        guard let nextEnd, now >= nextEnd else { return [] }
        let ended = counts.filter { now >= $0.value.since + Self.window }
        for key in ended.keys { counts[key] = nil }
        self.nextEnd = counts.values.map { $0.since + Self.window }.min()
        return ended.filter { $0.value.count > Self.maxPassed }.sorted { $0.value.since < $1.value.since }
            .map { Summary(key: $0.key, count: $0.value.count - Self.maxPassed) }
    }
}
