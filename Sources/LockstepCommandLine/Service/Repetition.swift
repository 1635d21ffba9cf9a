/// Decides which events of a log are said, where one comes over and over: the first few of a minute, and then how many
/// more there were.
///
/// It reads no clock: the same events at the same times give the same decisions.
struct Repetition<Key: Hashable & Sendable>: Sendable {
    /// How many of a kind are said in one span.
    static var mostSaid: Int { 5 }
    /// Over which an event counts as repeated.
    static var span: Duration { .seconds(60) }
    /// Kinds that are counted at once; what comes beyond is said.
    private static var mostKinds: Int { 1000 }

    /// What was left unsaid of one kind.
    struct Summary: Sendable, Equatable {
        let key: Key
        /// How many events.
        let count: Int
    }

    private struct Count {
        let since: ContinuousClock.Instant
        var count = 0
    }

    private var counts: [Key: Count] = [:]
    /// When the first span ends.
    private var nextEnd: ContinuousClock.Instant?

    init() {}

    /// Whether an event is to be said.
    mutating func says(_ key: Key, at now: ContinuousClock.Instant) -> Bool {
        guard counts[key] != nil || counts.count < Self.mostKinds else { return true }
        counts[key, default: Count(since: now)].count += 1
        nextEnd = nextEnd ?? now + Self.span
        return counts[key].map { $0.count <= Self.mostSaid } ?? true
    }

    /// Takes out what was left unsaid in the spans that are over, in the order in which these began.
    mutating func takeSummaries(at now: ContinuousClock.Instant) -> [Summary] {
        guard let nextEnd, now >= nextEnd else { return [] }
        let over = counts.filter { now >= $0.value.since + Self.span }
        for key in over.keys { counts[key] = nil }
        self.nextEnd = counts.values.map { $0.since + Self.span }.min()
        return over.filter { $0.value.count > Self.mostSaid }.sorted { $0.value.since < $1.value.since }
            .map { Summary(key: $0.key, count: $0.value.count - Self.mostSaid) }
    }
}
