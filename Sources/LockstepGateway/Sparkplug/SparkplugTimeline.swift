import LockstepModel

/// The values of the columns of one stream of a node or device, and its samples that wait for other values of their time.
///
/// A node sends a metric only when its value changes, and may send values of one time in several messages. So a sample
/// waits for them until it has all columns, but at most for ``hold``. The columns that are still unknown then get their
/// last values before its time. If values arrive later than that, the samples after it wait longer.
struct SparkplugTimeline {
    /// The time that a sample waits for other values of its time at first, in µs.
    static let hold: Int64 = 1_000_000
    /// The longest time that a sample waits, and the time that a historical one waits, in µs.
    static let longestHold: Int64 = 5_000_000
    /// The number of waiting samples from which none waits any longer.
    private static let maxOpen = 1000
    /// The number of values of a column, of each kind, that are kept before the first sample that waits.
    private static let memory = 8

    /// A value of a column, or nil from the time at which it is null or unknown.
    private struct Entry {
        let time: Int64
        let value: Reading.Value?
        var isHistorical: Bool
    }

    private struct Column {
        let name: String
        let isRequired: Bool
        /// The last values, the oldest first. Of equal times, the last one counts.
        var entries: [Entry] = []
    }

    private struct Open {
        let time: Int64
        var values: [(column: Int, value: Reading.Value?)]
        var isHistorical: Bool
        let writtenAt: Int64?
        /// The time of its first value, in µs of the boot clock.
        let arrivedAt: Int64
    }

    struct Row {
        let reading: Reading
        let isHistorical: Bool
        /// The time of the message in µs since 1970.
        let writtenAt: Int64?
    }

    /// A value, and what its message tells of it.
    struct Value {
        let column: Int
        /// µs since 1970.
        let time: Int64
        var value: Reading.Value?
        var isHistorical = false
        /// The time of the message in µs since 1970.
        var writtenAt: Int64?
    }

    private let stream: String
    private var columns: [Column] = []
    /// The samples that wait, the oldest first.
    private var open: [Open] = []
    /// The last samples that were released without all columns.
    private var incomplete: [Open] = []
    /// The time that a sample waits, in µs.
    private var hold = Self.hold

    init(_ stream: String) { self.stream = stream }

    var isWaiting: Bool { !open.isEmpty }
    private var hasValues: Bool { columns.contains { !$0.entries.isEmpty } }

    /// Adds a column, unless it is there already.
    /// - Parameter earlier: the values of the same stream before a new birth message.
    /// - Returns: its index.
    mutating func add(_ name: String, isRequired: Bool, earlier: SparkplugTimeline?) -> Int {
        if let index = columns.firstIndex(where: { $0.name == name }) { return index }
        hold = max(hold, earlier?.hold ?? 0)
        let entries = earlier?.columns.first { $0.name == name }?.entries ?? []
        columns.append(Column(name: name, isRequired: isRequired, entries: entries))
        return columns.count - 1
    }

    /// Records the values of a birth message, which repeats each value with the time of its last change.
    ///
    /// If no values are known, such as after a start of the gateway, the sample of the newest time is the only one of which
    /// all values are known: an earlier one may be stored with values that the birth message does not have any more.
    mutating func add(birth values: [Value], at boot: Int64) {
        let newest = hasValues ? .min : values.map(\.time).max() ?? .min
        // A birth repeats values of samples that are released.
        incomplete = []
        for value in values { add(value, isSample: value.time >= newest, at: boot) }
    }

    /// Records a value. It adds nothing if the column has the same value of this time already.
    mutating func add(_ value: Value, isSample: Bool = true, at boot: Int64) {
        guard remember(value), isSample else { return }
        let pair = (column: value.column, value: value.value)
        let end = open.upperBound(of: value.time, \.time)
        if end > 0, open[end - 1].time == value.time,
            !open[end - 1].values.contains(where: { $0.column == value.column })
        {
            open[end - 1].values.append(pair)
            if !value.isHistorical { open[end - 1].isHistorical = false }
        } else {
            if !value.isHistorical, let late = incomplete.last(where: { $0.time == value.time }),
                !late.values.contains(where: { $0.column == value.column })
            {
                hold = min(Self.longestHold, max(hold, 2 * (boot - late.arrivedAt)))
            }
            open.insert(
                Open(
                    time: value.time, values: [pair], isHistorical: value.isHistorical, writtenAt: value.writtenAt,
                    arrivedAt: boot), at: end)
        }
    }

    /// - Returns: whether the value is new.
    private mutating func remember(_ value: Value) -> Bool {
        let index = columns[value.column].entries.upperBound(of: value.time, \.time)
        if index > 0 {
            let last = columns[value.column].entries[index - 1]
            if last.time == value.time, last.value == value.value {
                if !value.isHistorical { columns[value.column].entries[index - 1].isHistorical = false }
                return false
            }
        }
        columns[value.column].entries.insert(
            Entry(time: value.time, value: value.value, isHistorical: value.isHistorical), at: index)
        return true
    }

    /// Forgets all values and samples, because they may not be stored.
    mutating func removeAll() {
        (open, incomplete) = ([], [])
        for index in columns.indices { columns[index].entries = [] }
    }

    /// Removes and returns the samples that have all columns or have waited long enough, the oldest first.
    /// - Parameter all: whether no sample waits any longer.
    mutating func release(at boot: Int64, all: Bool = false) -> [Row] {
        guard isWaiting else { return [] }
        let isEnd = all || open.count > Self.maxOpen
        var rows: [Row] = []
        var waiting: [Open] = []
        for sample in open {
            let end = sample.arrivedAt + (sample.isHistorical ? Self.longestHold : hold)
            guard isEnd || end <= boot || sample.values.count == columns.count else {
                waiting.append(sample)
                continue
            }
            if !sample.isHistorical, sample.values.count < columns.count { incomplete.append(sample) }
            let reading = reading(sample)
            guard !reading.values.isEmpty else { continue }
            rows.append(Row(reading: reading, isHistorical: sample.isHistorical, writtenAt: sample.writtenAt))
        }
        open = waiting
        incomplete = Array(incomplete.suffix(Self.memory))
        trim()
        return rows
    }

    private func reading(_ sample: Open) -> Reading {
        var reading = Reading(stream, at: sample.time)
        for (index, column) in columns.enumerated() {
            let known = sample.values.first { $0.column == index }
            guard let value = known.map(\.value) ?? value(of: column, at: sample) else { continue }
            reading.values.append((column.name, value))
        }
        return reading
    }

    /// Returns the last value of a column before a sample. A historical value is no current one.
    ///
    /// Without one, it gets the first value after the sample: many nodes give the values of a birth the time of the birth,
    /// which may be after the time of the next sample. A historical sample gets it only for a required column, without which
    /// it could not be stored.
    private func value(of column: Column, at sample: Open) -> Reading.Value? {
        let end = column.entries.upperBound(of: sample.time, \.time)
        if let last = column.entries[..<end].last(where: { sample.isHistorical || !$0.isHistorical }) {
            return last.value
        }
        guard column.isRequired || !sample.isHistorical else { return nil }
        return column.entries[end...].lazy.compactMap(\.value).first
            ?? column.entries[..<end].last { $0.value != nil }?.value
    }

    /// Removes values that no sample needs any more.
    private mutating func trim() {
        let time = open.first?.time ?? .max
        for index in columns.indices where columns[index].entries.count > 4 * Self.memory {
            let end = columns[index].entries.upperBound(of: time, \.time)
            var counts = [false: 0, true: 0]
            let kept = columns[index].entries[..<end].reversed().filter { entry in
                counts[entry.isHistorical, default: 0] += 1
                return counts[entry.isHistorical, default: 0] <= Self.memory
            }
            columns[index].entries.replaceSubrange(..<end, with: kept.reversed())
        }
    }
}

extension Array {
    /// Returns the index after the last element up to a time, of elements in the order of their times.
    fileprivate func upperBound(of time: Int64, _ timeOf: (Element) -> Int64) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if timeOf(self[middle]) <= time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
