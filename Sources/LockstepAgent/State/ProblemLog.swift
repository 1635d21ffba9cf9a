/// Reports each problem once until it is resolved, and limits how often a failed operation is retried.
struct ProblemLog {
    private var reported: Set<String> = []
    private var retryTimes: [String: Int64] = [:]

    /// Returns whether the problem has not been reported yet, and marks it as reported.
    mutating func isNew(_ problem: String) -> Bool { reported.insert(problem).inserted }

    /// Returns whether the operation may be retried: at most once a second.
    /// - Parameter boot: the current time in µs of the boot clock.
    mutating func isRetryDue(_ problem: String, at boot: Int64) -> Bool {
        guard boot >= retryTimes[problem] ?? .min else { return false }
        retryTimes[problem] = boot + 1_000_000
        return true
    }

    /// Marks the problem, and every problem whose name starts with its name, as resolved.
    mutating func resolve(_ problem: String) { reported = reported.filter { !$0.hasPrefix(problem) } }
}
