public import LockstepWire

/// What collectors say that they did, since a begin.
public struct CollectorWatch: Sendable {
    /// Samples.
    public struct Counts: Sendable, Hashable {
        public var stored = 0
        public var duplicates = 0
        public var conflicts = 0
        /// Messages.
        public var rejected = 0

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

    public struct Collector: Sendable {
        public var health: CollectorHealth
        public var memory = MemorySeries()
        /// How often it began anew. What it did between its last word and its end is in no count.
        public var restarts = 0
        /// When it last spoke, in µs since the begin.
        var heardAt: Int64
        /// What its present count begins with.
        var baseline = Counts()
        /// What it counted before its last restart.
        var earlier = Counts()

        public var counts: Counts { earlier + (Counts(health) - baseline) }
    }

    /// By `group/id`.
    public private(set) var collectors: [String: Collector] = [:]

    public init() {}

    /// Takes in a collector's word; `elapsed` in µs since the begin.
    mutating func hear(_ health: CollectorHealth, from name: String, at elapsed: Int64) {
        guard var collector = collectors[name] else {
            var collector = Collector(health: health, heardAt: elapsed)
            collector.baseline = Counts(health)
            collectors[name] = collector
            return
        }
        // A will, said by the broker, carries no counts.
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
        collector.heardAt = elapsed
        if let memory = health.memory { collector.memory.add(memory, at: elapsed) }
        collectors[name] = collector
    }

    /// From now on everything counts.
    mutating func begin() {
        for (name, collector) in collectors {
            var begun = Collector(health: collector.health, heardAt: 0)
            begun.baseline = Counts(collector.health)
            if let memory = collector.health.memory { begun.memory.add(memory, at: 0) }
            collectors[name] = begun
        }
    }

    public var counts: Counts { collectors.values.reduce(Counts()) { $0 + $1.counts } }
    public var restarts: Int { collectors.values.reduce(0) { $0 + $1.restarts } }

    /// Whether one is there that takes data in.
    var isAnyOnline: Bool { collectors.values.contains { $0.health.status == .online } }

    /// Why none takes data in, where one says so.
    var problem: String? { collectors.values.lazy.compactMap(\.health.problem).first }

    /// Whether each that is online has spoken after `elapsed`: then its counts have all that was acknowledged by then.
    func isCurrent(after elapsed: Int64) -> Bool {
        collectors.values.allSatisfy { $0.health.status != .online || $0.heardAt > elapsed }
    }
}
