import LockstepModel

/// What an agent publishes about its clock.
struct ClockState {
    /// The time after the start of a segment during which each new estimate is published at once, in µs. Later ones wait
    /// for the next heartbeat.
    private static let settling: Int64 = 15_000_000

    private var discipline: KernelDiscipline?
    /// The estimates that were not published yet.
    private var pending: [ClockPoint] = []
    /// The newest estimate for each collector.
    private var newest: [ClockPoint] = []

    /// The report for the presence, or nil if nothing is known.
    var report: ClockReport? {
        guard discipline != nil || !newest.isEmpty else { return nil }
        let isSynchronised = discipline?.isSynchronised
        return ClockReport(
            isSynchronised: isSynchronised, maxError: isSynchronised == true ? discipline?.maxError : nil,
            points: pending.isEmpty ? newest : pending)
    }

    /// Records new estimates.
    /// - Returns: whether to publish them without waiting for the next heartbeat.
    mutating func update(
        _ points: [ClockPoint], newest: [ClockPoint], discipline: KernelDiscipline?
    ) -> Bool {
        self.newest = newest
        self.discipline = discipline
        pending += points
        if pending.count > ClockReport.maxPoints { pending.removeFirst(pending.count - ClockReport.maxPoints) }
        return points.contains { $0.time - $0.segment < Self.settling }
    }

    mutating func didPublish() { pending = [] }
}
