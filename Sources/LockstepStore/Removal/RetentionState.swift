import LockstepModel
import LockstepSQLite

/// What a store knows of the samples that leave it.
struct RetentionState {
    let settings: Retention
    /// Which minutes keep their summaries when their samples leave: by the rules of the collector, also in other programs.
    let summaryRules: KeepRules
    /// What leaves at present, or nil: by the rules, for space, or because a person has deleted it.
    var removal: Removal?
    /// When to look again whether something is to leave, and when to apply the rules again.
    var due = ContinuousClock.now
    var rulesDue = ContinuousClock.now
    /// Whether the last slice has failed, for example because the disk is full, and when to try again.
    var hasFailed = false
    var retryAt: ContinuousClock.Instant?
    /// What was being deleted when a slice failed, or nil.
    var failed: Removal.Target?
    /// The numbers of deletions by a person of which not all could leave, and when to try them again; nil if there are none.
    var failedDeletions: Set<Int64> = []
    var deletionRetryAt: ContinuousClock.Instant?
    /// The tables and keys of what was refined that could not be read, and without which samples leave.
    var unreadable: Set<String> = []
    /// The number of samples that were stored while others are to leave, and for which as many rows have not left yet.
    var owed = 0
    /// When samples were last stored, or nil.
    var storedAt: ContinuousClock.Instant?
    /// Until when what leaves pauses after a slice, or nil.
    var pauseEnd: ContinuousClock.Instant?
    /// The numbers of samples that have expired and that arrived too late, since the store was opened.
    var deleted = 0
    var late = 0
    /// What has not left because a confirmation is missing, by table, with the greatest limit.
    var refusals: [Int: (refusal: Retention.Refusal, to: Int64)] = [:]
    /// The holds as of the last application of the rules to all series, or nil if there was none.
    var appliedHolds: [Hold]?
    /// The time before which summaries leave or have left whose samples are gone, as of the last application of the rules.
    var summaryLimits: [Removal.Series: Int64] = [:]
    /// The holds as the current transaction has read them, or nil.
    var holds: [(device: Int64, hold: Hold)]?
    /// Whether samples leave until the store is smaller.
    var isShedding = false
    var isTooSmall = false
    var forecast = SpaceForecast()
    var readers = LogReaders()
    /// The last report that the store fills up, in µs of the boot clock.
    var reportedFull: Int64?

    init(_ settings: Retention, summaryRules: KeepRules) {
        self.settings = settings
        self.summaryRules = summaryRules
    }

    /// The number of stored samples from which a busy collector removes as many, whatever else it has to do.
    static let maxOwed = 50_000

    /// Whether samples that arrive have the time between two commits for themselves. What leaves fills the log as well, and each
    /// checkpoint of it delays them. What people delete does not pause, nor does anything that leaves more slowly than samples
    /// arrive, so that the store does not grow.
    func isPausing(at now: ContinuousClock.Instant) -> Bool {
        guard let pauseEnd, let storedAt, removal?.deletion == nil, owed <= Self.maxOwed / 2 else { return false }
        return now < pauseEnd && now - storedAt < .seconds(1)
    }

    /// Lets all rules be applied again, because a deletion goes before what leaves at present.
    mutating func applyRulesAgain() {
        removal = nil
        (due, rulesDue, appliedHolds) = (.now, .now, nil)
        summaryLimits = [:]
    }

    /// Returns streams in the order in which they leave a store that is too large.
    static func order(_ streams: [(table: Int, name: String, rate: Double)], by order: [StreamPattern]) -> [Int] {
        streams.map { stream in
            (stream, order.firstIndex { $0.selects(stream.name) } ?? order.count)
        }.sorted { ($0.1, $1.0.rate, $0.0.table) < ($1.1, $0.0.rate, $1.0.table) }.map(\.0.table)
    }
}
