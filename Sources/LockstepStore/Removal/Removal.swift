import LockstepModel

/// What leaves a store, as a value without I/O: by the rules of retention, because the store is too large, or because a person
/// has deleted it. All of it leaves in pieces, one target after the other, the oldest rows first.
struct Removal {
    enum Reason {
        case rules, space
        case deletion(DeletionTable.Row)
    }

    /// A stream of a device.
    struct Series: Hashable {
        /// The index of the stream's table.
        let table: Int
        let device: Int64
    }

    /// Rows that leave: those with a key, in a range of times or numbers.
    struct Target: Equatable {
        let table: String
        /// The condition of the key, which ``column`` follows in the primary key.
        let key: String
        var column = "t"
        let range: Range<Int64>
        /// The series whose samples these are, or from whose samples they were derived.
        var series: Series?
        var isSamples = false
        /// A condition of the rows that leave, or nil for all of the range.
        var condition: String?
    }

    enum Step: Equatable {
        /// This number of merges must end first, so that nothing waits any more.
        case merging(Int)
        case rows
        /// Free pages are taken by rows of zeros, which are then deleted.
        case filling, clearing
        case done
    }

    /// The greatest number of rows of a piece. To delete so many takes about 3 ms.
    static let pieceSize = 4096
    /// The greatest length in µs of a piece whose minutes may need a summary first. To make so many takes about as long.
    static let summarisedLength = 128 * Minute.length

    let reason: Reason
    var step: Step
    /// The checks to do before any row leaves.
    private(set) var checks: [ShareCheck]
    private var targets: ArraySlice<Target>
    /// Before which time or number all rows of the current target have left, except held ones; nil at its start.
    private var cursor: Int64?
    /// Why rows were left out, or nil.
    private var failure: (any Error)?
    /// The numbers of samples, and of all rows, that have left.
    private(set) var samples = 0
    private(set) var rows = 0

    init(_ reason: Reason, _ targets: [Target] = [], checks: [ShareCheck] = [], step: Step = .rows) {
        self.reason = reason
        self.targets = targets[...]
        self.checks = checks
        self.step = step
    }

    /// The deletion, if a person has asked for it.
    var deletion: DeletionTable.Row? { if case .deletion(let row) = reason { row } else { nil } }

    var isSecure: Bool { deletion?.stored.deletion.isSecure ?? false }

    /// The rows that leave at present, or nil at the end.
    var current: Target? { targets.first }

    /// Why a deletion by a person is not done, although everything else of it has left; nil if it goes on.
    var finalFailure: (any Error)? { deletion != nil && current == nil ? failure : nil }

    /// Returns the next range of the current target that is not held, or nil if nothing else of it leaves.
    func piece(holds: [Range<Int64>]) -> Range<Int64>? {
        guard let range = current?.range else { return nil }
        return Hold.free((cursor ?? range.lowerBound)..<range.upperBound, of: holds).first
    }

    /// Records that all rows of a piece before a time or number have left.
    mutating func didRemove(_ count: Int, before end: Int64) {
        rows += count
        if current?.isSamples == true { samples += count }
        cursor = end
    }

    /// Ends the current target.
    mutating func endTarget() {
        targets.removeFirst()
        cursor = nil
    }

    /// Leaves out a target that has failed, so that the others can leave.
    mutating func leaveOut(_ target: Target, because error: any Error) {
        failure = error
        if current == target { endTarget() } else { targets.removeAll { $0 == target } }
        // Deliveries are found by their events.
        if target.table == "deliveries" { targets.removeAll { $0.table == "events" } }
    }

    /// Records the end of a merge.
    mutating func didMerge() { if case .merging(let count) = step { step = .merging(max(0, count - 1)) } }

    /// Begins with the rows, after the merges.
    /// - Parameter failure: why rows are not among the targets that should be, or nil.
    mutating func begin(_ targets: [Target], without failure: (any Error)?) {
        (step, self.targets, self.failure) = (.rows, targets[...], failure)
    }

    /// Records the result of a part of the first check.
    /// - Returns: the check if it has failed. The samples of its stream then stay.
    mutating func didCount(_ count: Int, last: Int64?, limit: Int) -> ShareCheck? {
        guard let isAllowed = checks[0].didCount(count, last: last, limit: limit) else { return nil }
        let check = checks.removeFirst()
        guard !isAllowed else { return nil }
        targets.removeAll { $0.series?.table == check.table }
        return check
    }
}

/// Counts whether more than half of the samples of a stream would leave at once, in parts.
///
/// Only a limit that moves far is checked, so that a day's samples are not counted every day.
struct ShareCheck {
    let table: Int
    /// The greatest limit.
    let to: Int64
    /// The samples of the series that leave, and then those of all devices that stay.
    private var ranges: [(device: Int64, times: Range<Int64>, leaves: Bool)]
    private var cursor = Int64.min
    private(set) var samples = 0
    private(set) var others = 0

    /// - Parameters:
    ///   - limits: the time of the first sample that stays of each device; `Int64.min` if all stay.
    ///   - far: the devices whose limits move far.
    init(table: Int, limits: [(device: Int64, to: Int64)], far: Set<Int64>) {
        self.table = table
        to = limits.map(\.to).max() ?? .min
        ranges =
            limits.filter { far.contains($0.device) }.map {
                ($0.device, KeepRules.earliest..<max($0.to, KeepRules.earliest), true)
            } + limits.map { ($0.device, $0.to..<Int64.max, false) }
    }

    /// The samples to count next.
    var part: (device: Int64, times: Range<Int64>)? {
        ranges.first.map { ($0.device, max(cursor, $0.times.lowerBound)..<$0.times.upperBound) }
    }

    /// Records the number of the first samples of a part.
    /// - Parameters:
    ///   - last: the time of the last one that was counted.
    ///   - limit: the greatest number that is counted.
    /// - Returns: whether the samples may leave, or nil while that is not known.
    mutating func didCount(_ count: Int, last: Int64?, limit: Int) -> Bool? {
        if ranges[0].leaves { samples += count } else { others += count }
        if count == limit, let last {
            cursor = last + 1
        } else {
            ranges.removeFirst()
            cursor = .min
        }
        if ranges.first?.leaves == true { return nil }
        // Also if nothing leaves.
        if others >= samples { return true }
        return ranges.isEmpty ? false : nil
    }
}

/// Which samples of a series are not stored, because they have left: one filter for all that arrives, that is merged, or that
/// is looked for.
struct RemovedTimes {
    enum Reason: Hashable {
        case expired
        /// The number of the deletion.
        case deleted(Int64)
    }

    /// The time before which samples have left by the rules, except held ones.
    var limit = Int64.min
    var held: [Range<Int64>] = []
    /// The times that people have deleted.
    var deleted: [(number: Int64, times: Range<Int64>)] = []

    /// Returns why a sample at a time is not stored, or nil.
    func reason(_ time: Int64) -> Reason? {
        if let deletion = deleted.first(where: { $0.times.contains(time) }) { return .deleted(deletion.number) }
        return KeepRules.isExpired(time, before: limit, held: held) ? .expired : nil
    }
}
