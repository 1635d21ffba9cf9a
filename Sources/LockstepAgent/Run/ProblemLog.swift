/// Remembers which problems have been told, so that each is said once until it is mended.
struct ProblemLog {
    private var told: Set<String> = []
    private var retryAt: [String: Int64] = [:]

    /// Whether the problem has not been told yet; it counts as told from now on.
    mutating func isNew(_ problem: String) -> Bool { told.insert(problem).inserted }

    /// Whether a second has passed since the last try to mend it; `boot` in µs of the boot clock.
    mutating func isRetryDue(_ problem: String, at boot: Int64) -> Bool {
        guard boot >= retryAt[problem] ?? .min else { return false }
        retryAt[problem] = boot + 1_000_000
        return true
    }

    /// The problem and all whose names begin with its own are gone.
    mutating func mend(_ problem: String) { told = told.filter { !$0.hasPrefix(problem) } }
}
