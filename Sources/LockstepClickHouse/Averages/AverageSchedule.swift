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
    }

    /// The maximum number of minutes that wait. Further ones are not summarised, so that their samples are read instead.
    private static let maxWaiting = 500_000
    /// The maximum number of rows that a piece reads, if it has more than one minute.
    private static let maxRows = 200_000
    /// The maximum number of minutes of a piece.
    private static let maxMinutes = 500

    /// The time for which nothing must have been stored in a minute.
    let delay: Duration
    private var entries: [Key: Entry] = [:]
    /// The minutes of each stream that wait, in order of the time at which they were added or last looked at.
    private var queues: [Int: [(key: Key, since: ContinuousClock.Instant)]] = [:]
    /// Until when nothing is summarised.
    private var pausedUntil: ContinuousClock.Instant?

    init(delay: Duration) { self.delay = delay }

    /// Records that samples were stored in a minute.
    mutating func record(_ key: Key, rows: Int, at now: ContinuousClock.Instant) {
        if entries[key] == nil {
            guard entries.count < Self.maxWaiting else { return }
            queues[key.series.stream, default: []].append((key, now))
        }
        entries[key, default: Entry(changedAt: now, rows: 0)].changedAt = now
        entries[key, default: Entry(changedAt: now, rows: 0)].rows += rows
    }

    /// Returns whether a minute may have to be summarised.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        if let pausedUntil, now < pausedUntil { return false }
        return queues.values.contains { $0.first.map { now - $0.since >= delay } ?? false }
    }

    /// Removes and returns the minutes of one stream that are to be summarised now, at most as many as one statement reads.
    /// - Parameter newest: returns the time of the newest stored sample of a series, or nil if it is not known.
    mutating func next(at now: ContinuousClock.Instant, newest: (SeriesKey) -> Int64?) -> [Key] {
        for stream in queues.keys.sorted() {
            var keys: [Key] = []
            var (rows, position) = (0, 0)
            var postponed: [(key: Key, since: ContinuousClock.Instant)] = []
            let queue = queues[stream] ?? []
            while position < queue.count, keys.count < Self.maxMinutes, now - queue[position].since >= delay {
                let key = queue[position].key
                let entry = entries[key] ?? Entry(changedAt: now, rows: 0)
                let isComplete = newest(key.series).map { key.minute < Minute.start(of: $0) } ?? false
                if now - entry.changedAt < delay {
                    postponed.append((key, entry.changedAt))
                } else if !isComplete {
                    postponed.append((key, now))
                } else {
                    guard keys.isEmpty || rows + entry.rows <= Self.maxRows else { break }
                    rows += entry.rows
                    keys.append(key)
                    entries[key] = nil
                }
                position += 1
            }
            queues[stream] = Array(queue.dropFirst(position)) + postponed
            if !keys.isEmpty { return keys }
        }
        return []
    }

    /// Records that a piece was summarised. The next one waits, so that samples are stored most of the time: of a collector
    /// that is always busy, at most a tenth is spent on summaries, and minutes may stay without one.
    mutating func finish(after duration: Duration, at now: ContinuousClock.Instant) { pausedUntil = now + duration * 9 }

    /// Returns minutes that could not be summarised, and waits before the next attempt.
    mutating func postpone(_ keys: [Key], at now: ContinuousClock.Instant) {
        for key in keys { record(key, rows: 0, at: now) }
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
