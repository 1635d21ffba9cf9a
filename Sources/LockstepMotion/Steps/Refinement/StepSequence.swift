import Glibc

/// Selects, among candidates, the steps that form regular gait cycles.
///
/// The sequence with the largest likelihood is found by dynamic programming, as for beats of music: D. P. W. Ellis, "Beat
/// tracking by dynamic programming", Journal of New Music Research 36 (2007). The logarithms of intervals are normally
/// distributed around the local interval. A candidate that makes its neighbours' intervals less likely than a false step
/// is an outlier, such as the second peak of a step.
struct StepSequence: Sendable {
    /// A detected step.
    struct Candidate: Sendable, Hashable {
        /// The time, in µs.
        var time: Int64
    }

    /// The logarithm of the odds that a candidate is a step: about 150 to 1, as the live detector seldom counts false ones.
    private static let odds = 5.0
    /// The smallest standard deviation of the logarithm of an interval: steps of both feet, turns and obstacles.
    private static let minSpread = 0.15
    /// The largest penalty of an interval, which is that of three standard deviations: after a pause, or a missed step.
    private static let maxPenalty = 4.5
    /// The number of candidates before and after that determine the local interval.
    private static let neighbours = 10
    /// The largest number of consecutive candidates that may be outliers.
    private static let maxOutliers = 5

    /// Returns the times of the steps.
    ///
    /// - Parameter candidates: in order of time.
    func selection(of candidates: [Candidate]) -> [Int64] {
        guard candidates.count > 2 else { return candidates.map(\.time) }
        var scores: [Double] = []
        var previous: [Int?] = []
        for index in candidates.indices {
            let (level, spread) = localInterval(candidates, index)
            var best = (score: Self.odds - Self.maxPenalty, previous: Int?.none)
            for other in max(0, index - 1 - Self.maxOutliers)..<index {
                let interval = Double(candidates[index].time - candidates[other].time) / 1e6
                guard interval > 0 else { continue }
                let deviation = (log(interval) - level) / spread
                let score = scores[other] + Self.odds - min(Self.maxPenalty, deviation * deviation / 2)
                if score > best.score { best = (score, other) }
            }
            scores.append(best.score)
            previous.append(best.previous)
        }
        var times: [Int64] = []
        var next = scores.indices.max { scores[$0] < scores[$1] }
        while let index = next {
            times.append(candidates[index].time)
            next = previous[index]
        }
        return times.reversed()
    }

    /// Returns the median of the logarithms of the intervals around a candidate, and their spread.
    private func localInterval(_ candidates: [Candidate], _ index: Int) -> (level: Double, spread: Double) {
        let range = max(1, index - Self.neighbours)...min(candidates.count - 1, index + Self.neighbours)
        let intervals = range.compactMap { index -> Double? in
            let interval = Double(candidates[index].time - candidates[index - 1].time) / 1e6
            return interval > 0 && interval < 1.9 ? log(interval) : nil
        }.sorted()
        guard intervals.count >= 3 else { return (log(0.55), 0.5) }
        let median = intervals[intervals.count / 2]
        // Not a robust spread: where many intervals are unlike the others, as at the wrist, nothing is known to be an outlier.
        let squares = intervals.reduce(0) { $0 + ($1 - median) * ($1 - median) }
        return (median, max(Self.minSpread, (squares / Double(intervals.count)).squareRoot()))
    }
}
