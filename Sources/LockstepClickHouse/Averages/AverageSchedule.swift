import LockstepStore

/// Decides which minutes are summarised next.
///
/// A minute is summarised when nothing was stored in it for a while, and the series has newer samples. If a summarised
/// minute changes, it is summarised again.
struct AverageSchedule {
    /// A minute of a device and stream.
    struct Key: Hashable {
        var series: SeriesKey
        /// The start, in µs since 1970.
        var minute: Int64
    }

    private struct Entry {
        var changedAt: ContinuousClock.Instant
        var rows: Int
        /// Whether the minute was marked as changed since its last summary began.
        var isMarked = false
    }

    /// The number of minutes that may wait for each series. Further ones are not summarised, so that their samples are read
    /// instead. With a delay of a minute, one or two wait if the server keeps up.
    private static let minutesPerSeries = 4
    /// The number of minutes that may wait even if there are few series.
    private static let minWaiting = 100_000
    /// The maximum number of rows that a piece reads, if it has more than one minute.
    private static let maxRows = 200_000
    /// The maximum number of minutes of a piece.
    private static let maxMinutes = 500

    /// The time for which nothing must have been stored in a minute.
    let delay: Duration
    /// The complete minutes that wait.
    private var entries: [Key: Entry] = [:]
    /// The minutes of each stream that wait, in order of the time at which they were added or last looked at.
    private var queues: [Int: [(key: Key, since: ContinuousClock.Instant)]] = [:]
    /// The minute of the newest sample of each series. It waits when a sample of a later one is recorded.
    private var open: [SeriesKey: (minute: Int64, entry: Entry)] = [:]
    /// The stream of the last piece. The next piece is from a later stream, so that each has its turn.
    private var lastStream = -1
    /// By what the size of a piece is divided. More than 1 after failures: a smaller piece may succeed.
    private var divisor = 1
    /// Until when nothing is summarised.
    private var pausedUntil: ContinuousClock.Instant?

    init(delay: Duration) { self.delay = delay }

    /// Whether pieces have failed, and since then not as many succeeded that they have their usual size again.
    var hasFailed: Bool { divisor > 1 }

    /// Records that samples were stored in a minute.
    /// - Parameter newest: the time of the newest stored sample of the series.
    mutating func record(_ key: Key, rows: Int, newest: Int64, at now: ContinuousClock.Instant) {
        let current = Minute.start(of: newest)
        if let last = open[key.series], last.minute < current {
            open[key.series] = nil
            add(Key(series: key.series, minute: last.minute), last.entry)
        }
        var entry = Entry(changedAt: now, rows: rows)
        guard key.minute >= current else { return add(key, entry) }
        if let last = open[key.series], last.minute == key.minute {
            entry.rows += last.entry.rows
            entry.isMarked = last.entry.isMarked
        }
        open[key.series] = (key.minute, entry)
    }

    /// Records that a minute was marked as changed, so that its summary is invalid until the next one begins.
    mutating func mark(_ key: Key, at now: ContinuousClock.Instant) {
        if open[key.series]?.minute == key.minute {
            open[key.series]?.entry.isMarked = true
        } else {
            add(key, Entry(changedAt: now, rows: 0, isMarked: true))
        }
    }

    /// Returns whether a minute was marked as changed since its last summary began, and waits for the next one.
    func isMarked(_ key: Key) -> Bool {
        if let last = open[key.series], last.minute == key.minute { return last.entry.isMarked }
        return entries[key]?.isMarked ?? false
    }

    private mutating func add(_ key: Key, _ entry: Entry) {
        if let known = entries[key] {
            entries[key] = Entry(
                changedAt: max(known.changedAt, entry.changedAt), rows: known.rows + entry.rows,
                isMarked: known.isMarked || entry.isMarked)
        } else if entries.count < max(Self.minWaiting, Self.minutesPerSeries * open.count) {
            entries[key] = entry
            queues[key.series.stream, default: []].append((key, entry.changedAt))
        }
    }

    /// Returns whether a minute may have to be summarised.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        if let pausedUntil, now < pausedUntil { return false }
        return queues.values.contains { $0.first.map { now - $0.since >= delay } ?? false }
    }

    /// Removes and returns the minutes of one stream that are to be summarised now, with their numbers of rows, at most as
    /// many as one statement reads.
    mutating func next(at now: ContinuousClock.Instant) -> [(key: Key, rows: Int)] {
        let (maxRows, maxMinutes) = (Self.maxRows / divisor, max(1, Self.maxMinutes / divisor))
        let streams = queues.keys.sorted()
        for stream in streams.filter({ $0 > lastStream }) + streams.filter({ $0 <= lastStream }) {
            var piece: [(key: Key, rows: Int)] = []
            var (rows, position) = (0, 0)
            var postponed: [(key: Key, since: ContinuousClock.Instant)] = []
            let queue = queues[stream] ?? []
            while position < queue.count, piece.count < maxMinutes, now - queue[position].since >= delay {
                let key = queue[position].key
                let entry = entries[key] ?? Entry(changedAt: now, rows: 0)
                if now - entry.changedAt < delay {
                    postponed.append((key, entry.changedAt))
                } else {
                    guard piece.isEmpty || rows + entry.rows <= maxRows else { break }
                    rows += entry.rows
                    piece.append((key, entry.rows))
                    entries[key] = nil
                }
                position += 1
            }
            queues[stream] = Array(queue.dropFirst(position)) + postponed
            guard piece.isEmpty else {
                lastStream = stream
                return piece
            }
        }
        return []
    }

    /// Records that a piece was summarised. The next one waits, so that samples are stored most of the time: of a collector
    /// that is always busy, at most a tenth is spent on summaries, and minutes may stay without one.
    mutating func finish(after duration: Duration, at now: ContinuousClock.Instant) {
        pausedUntil = now + duration * 9
        divisor = max(1, divisor / 2)
    }

    /// Returns minutes that could not be summarised, and waits before the next attempt, which is half as large.
    mutating func postpone(_ piece: [(key: Key, rows: Int)], at now: ContinuousClock.Instant) {
        for (key, rows) in piece { add(key, Entry(changedAt: now, rows: rows)) }
        divisor = min(divisor * 2, Self.maxMinutes)
        pausedUntil = now + max(delay, .seconds(1))
    }

    /// Returns the time ranges of minutes, by series.
    static func ranges(of keys: [Key]) -> [(series: SeriesKey, times: Range<Int64>)] {
        var ranges: [(series: SeriesKey, times: Range<Int64>)] = []
        for key in keys.sorted(by: { ($0.series.device, $0.minute) < ($1.series.device, $1.minute) }) {
            let (end, overflows) = key.minute.addingReportingOverflow(Minute.length)
            guard !overflows else { continue }
            if let last = ranges.last, last.series == key.series, last.times.upperBound == key.minute {
                ranges[ranges.count - 1].times = last.times.lowerBound..<end
            } else {
                ranges.append((key.series, key.minute..<end))
            }
        }
        return ranges
    }
}
