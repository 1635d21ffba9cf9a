import LockstepModel

/// Which samples leave next, as a value without I/O: the series of one application of the rules, one after the other.
struct RetentionPass {
    /// A stream of a device of which samples before a time leave.
    struct Series: Hashable {
        /// The index of the stream's table.
        let table: Int
        let device: Int64
        /// The time of the first sample that stays, in µs since 1970.
        let to: Int64
    }

    /// The samples of one step that leave together: those of a range of times, the oldest first.
    struct Piece: Equatable {
        let series: Series
        let times: Range<Int64>
    }

    /// The greatest number of samples of a piece. To delete so many takes about 3 ms.
    static let pieceSize = 4096

    /// The checks to do before any sample leaves.
    private(set) var checks: [ShareCheck]
    private var series: [Series]
    private var next = 0
    /// The samples of the current series that stay, and before which time all others have left.
    private var cursor = KeepRules.earliest
    /// The number of samples that have left.
    private(set) var samples = 0
    /// Whether the samples leave because the store has reached its greatest size.
    let isForSpace: Bool

    init(_ series: [Series], checks: [ShareCheck] = [], isForSpace: Bool = false) {
        self.series = series.sorted { ($0.table, $0.device) < ($1.table, $1.device) }
        self.checks = checks
        self.isForSpace = isForSpace
    }

    var isDone: Bool { checks.isEmpty && next == series.count }

    /// The series whose samples leave at present, or nil at the end.
    var current: Series? { next < series.count ? series[next] : nil }

    /// Returns the next range of the current series that is not held, or nil if nothing else of it leaves.
    func piece(holds: [Range<Int64>]) -> Piece? {
        guard let current, cursor < current.to else { return nil }
        return Hold.free(cursor..<current.to, of: holds).first.map { Piece(series: current, times: $0) }
    }

    /// Records that all samples of a piece before a time have left.
    mutating func didDelete(_ count: Int, before time: Int64) {
        samples += count
        cursor = time
    }

    /// Ends the current series.
    mutating func endSeries() {
        next += 1
        cursor = KeepRules.earliest
    }

    /// Records the result of a part of the first check.
    /// - Returns: the check if it has failed. The samples of its stream then stay.
    mutating func didCount(_ count: Int, last: Int64?, limit: Int) -> ShareCheck? {
        guard let outcome = checks[0].didCount(count, last: last, limit: limit) else { return nil }
        let check = checks.removeFirst()
        guard outcome == .exceeded else { return nil }
        series.removeAll { $0.table == check.table }
        return check
    }
}

/// Counts whether more than half of the samples of a stream would leave at once, in parts.
///
/// Only a limit that moves far is checked, so that a day's samples are not counted every day.
struct ShareCheck {
    enum Outcome { case allowed, exceeded }

    let table: Int
    /// The greatest limit.
    let to: Int64
    /// The series that leave, and the samples of all devices that stay.
    private let leaving: [(device: Int64, times: Range<Int64>)]
    private let staying: [(device: Int64, times: Range<Int64>)]
    private var index = 0
    private var cursor = Int64.min
    private var isCountingOthers = false
    private(set) var samples = 0
    private(set) var others = 0

    /// - Parameters:
    ///   - limits: the time of the first sample that stays of each device; `Int64.min` if all stay.
    ///   - far: the devices whose limits move far.
    init(table: Int, limits: [(device: Int64, to: Int64)], far: Set<Int64>) {
        self.table = table
        to = limits.map(\.to).max() ?? .min
        leaving = limits.filter { far.contains($0.device) }.map {
            ($0.device, KeepRules.earliest..<max($0.to, KeepRules.earliest))
        }
        staying = limits.map { ($0.device, $0.to..<Int64.max) }
    }

    /// The samples to count next.
    var part: (device: Int64, times: Range<Int64>)? {
        let list = isCountingOthers ? staying : leaving
        guard index < list.count else { return nil }
        return (list[index].device, max(cursor, list[index].times.lowerBound)..<list[index].times.upperBound)
    }

    /// Records the number of the first samples of a part.
    /// - Parameters:
    ///   - last: the time of the last one that was counted.
    ///   - limit: the greatest number that is counted.
    mutating func didCount(_ count: Int, last: Int64?, limit: Int) -> Outcome? {
        if isCountingOthers { others += count } else { samples += count }
        if isCountingOthers, others >= samples { return .allowed }
        if count == limit, let last {
            cursor = last + 1
            return nil
        }
        index += 1
        cursor = .min
        guard index == (isCountingOthers ? staying : leaving).count else { return nil }
        guard !isCountingOthers, samples > 0, !staying.isEmpty else { return samples > 0 ? .exceeded : .allowed }
        (isCountingOthers, index) = (true, 0)
        return nil
    }
}
