public import LockstepWire

/// The counts that collectors have reported since the start of a run.
public struct CollectorWatch: Sendable {
    /// The counts of one or more collectors.
    public struct Counts: Sendable, Hashable {
        /// Stored samples.
        public var stored = 0
        /// Duplicate samples.
        public var duplicates = 0
        /// Samples that differ from the stored sample with the same key.
        public var conflicts = 0
        /// Rejected messages.
        public var rejected = 0

        /// Creates counts of zero.
        public init() {}

        init(_ health: CollectorHealth) {
            stored = health.stored
            duplicates = health.duplicates
            conflicts = health.conflicts
            rejected = health.rejected
        }

        static func + (left: Counts, right: Counts) -> Counts { left.combined(with: right, by: +) }
        static func - (left: Counts, right: Counts) -> Counts { left.combined(with: right, by: -) }

        private func combined(with other: Counts, by operation: (Int, Int) -> Int) -> Counts {
            var result = Counts()
            result.stored = operation(stored, other.stored)
            result.duplicates = operation(duplicates, other.duplicates)
            result.conflicts = operation(conflicts, other.conflicts)
            result.rejected = operation(rejected, other.rejected)
            return result
        }
    }

    /// One collector.
    public struct Collector: Sendable {
        /// The last report.
        public var health: CollectorHealth
        /// The resident memory over time.
        public var memory = MemorySeries()
        /// The number of restarts. Samples that the collector stored between its last report and a restart are not
        /// counted.
        public var restarts = 0
        /// The time of the last report, in µs since the start.
        var lastReportAt: Int64
        /// The counts of the current collector process that do not belong to the run; zero after a restart.
        var baseline = Counts()
        /// The counts from the start of the run to the last restart.
        var earlier = Counts()

        /// The counts since the start of the run.
        public var counts: Counts { earlier + (Counts(health) - baseline) }
    }

    /// The collectors, by `group/id`.
    public private(set) var collectors: [String: Collector] = [:]

    /// Creates a watch without collectors.
    public init() {}

    /// Records a report; `elapsed` is in µs since the start.
    mutating func record(_ health: CollectorHealth, from name: String, at elapsed: Int64) {
        guard var collector = collectors[name] else {
            var collector = Collector(health: health, lastReportAt: elapsed)
            collector.baseline = Counts(health)
            collectors[name] = collector
            return
        }
        // A last will has no counts, so keep those of the last report.
        if health.started == nil {
            collector.health.status = health.status
            collector.health.problem = health.problem
        } else {
            if health.started != collector.health.started {
                collector.earlier = collector.counts
                collector.baseline = Counts()
                collector.restarts += 1
            }
            collector.health = health
        }
        collector.lastReportAt = elapsed
        if let memory = health.memory { collector.memory.add(memory, at: elapsed) }
        collectors[name] = collector
    }

    /// Sets all counts to zero at the start of the run.
    mutating func start() {
        for (name, collector) in collectors {
            var started = Collector(health: collector.health, lastReportAt: 0)
            started.baseline = Counts(collector.health)
            if let memory = collector.health.memory { started.memory.add(memory, at: 0) }
            collectors[name] = started
        }
    }

    /// The counts of all collectors.
    public var counts: Counts { collectors.values.reduce(Counts()) { $0 + $1.counts } }
    /// The restarts of all collectors.
    public var restarts: Int { collectors.values.reduce(0) { $0 + $1.restarts } }

    var isAnyOnline: Bool { collectors.values.contains { $0.health.status == .online } }

    /// The problem that a collector has reported, if any.
    var problem: String? { collectors.values.lazy.compactMap(\.health.problem).first }

    /// Returns whether each online collector has reported after `elapsed`, so that its counts include all samples that
    /// it had acknowledged by then.
    func isCurrent(after elapsed: Int64) -> Bool {
        collectors.values.allSatisfy { $0.health.status != .online || $0.lastReportAt > elapsed }
    }
}
