import LockstepModel

/// What waits of each device, in memory: which times in which rows of `_waiting`, and the changes of its counters.
///
/// It finds duplicates without reading the table, and leads a merge to the rows of a device.
struct WaitingIndex {
    /// One row of `_waiting` with samples of a stream, or with estimates of a clock.
    struct Row: Equatable {
        /// The number of the row.
        let n: Int64
        /// The times of its oldest and its newest sample, in µs since 1970.
        let first: Int64
        let last: Int64
    }

    /// The counters of a device, as changes to its row in the table `_devices`.
    struct Figures: Equatable {
        var samples: Int64 = 0
        /// The times of the first and the last message, in µs since 1970.
        var firstSeen: Int64?
        var lastSeen: Int64?
        /// The time of the newest sample, in µs since 1970.
        var newest: Int64?

        mutating func recordMessage(at time: Int64) {
            firstSeen = min(firstSeen ?? time, time)
            lastSeen = max(lastSeen ?? time, time)
        }

        mutating func recordSample(at time: Int64) { newest = max(newest ?? time, time) }
    }

    /// What waits of one stream of a device.
    struct Stream {
        /// The index of the stream's table, or that of the estimates of clocks.
        let table: Int
        /// In order of their first times.
        fileprivate(set) var rows: [Row]
        /// The time of the newest sample.
        fileprivate(set) var newest: Int64
    }

    /// What waits of one device.
    struct Device {
        fileprivate(set) var figures = Figures()
        /// The numbers of the scopes whose batch numbers wait.
        fileprivate(set) var scopes: [Int] = []
        fileprivate(set) var streams: [Stream] = []
        /// Whether the current transaction has changed the device.
        fileprivate var isChanged = false

        /// Returns the time of the newest waiting sample of a table, or nil if there is none.
        func newest(of table: Int) -> Int64? { streams.first { $0.table == table && !$0.rows.isEmpty }?.newest }

        /// Returns the rows of a table that may contain times of a range.
        func rows(of table: Int, overlapping times: ClosedRange<Int64>) -> [Row] {
            // Usually the range is newer than all rows.
            guard let stream = streams.first(where: { $0.table == table }), times.lowerBound <= stream.newest else {
                return []
            }
            return stream.rows.filter { $0.first <= times.upperBound && $0.last >= times.lowerBound }
        }
    }

    /// A row that is added.
    struct Entry {
        let n: Int64
        /// The size of the row, in bytes.
        let size: Int
        /// The time of receipt in µs since 1970, or nil for an estimate of a clock.
        let received: Int64?
        /// The number of new samples, also of those that went straight to their table.
        var samples = 0
        /// The index of the stream's table and the times of the samples, or nil if there are none.
        var table: Int?
        var times: ClosedRange<Int64>?
        /// Whether the row has the samples itself.
        var hasRows = false
        /// The number of the scope of its batch numbers, or nil.
        var scope: Int?
    }

    /// The devices by their ids.
    private(set) var devices = NumberMap<Device>()
    /// The number of pairs of a device and a stream with rows.
    private(set) var streamCount = 0
    /// The size of all rows, in bytes.
    private(set) var size = 0
    private(set) var rowCount = 0
    /// The number of rows with samples, by the index of the table.
    private(set) var rowCounts: [Int: Int] = [:]
    /// The rows of the current transaction.
    private var added: [(device: Int64, entry: Entry)] = []
    /// The state before the current transaction of the devices that it has changed, or nil if nothing of them waited.
    private var previous: [(device: Int64, state: Previous?)] = []

    fileprivate struct Previous {
        let figures: Figures
        let scopes: Int
    }

    var isEmpty: Bool { rowCount == 0 }

    mutating func add(_ entry: Entry, of device: Int64) {
        count(entry, 1)
        added.append((device, entry))
        let isNew = devices[Int(device)] == nil
        Self.change(&devices[Int(device), default: Device()], isNew: isNew, device, keeping: &previous) { content in
            if content.add(entry) { streamCount += 1 }
        }
    }

    private static func change(
        _ content: inout Device, isNew: Bool, _ device: Int64,
        keeping previous: inout [(device: Int64, state: Previous?)],
        _ body: (inout Device) -> Void
    ) {
        if !content.isChanged {
            content.isChanged = true
            let state = Previous(figures: content.figures, scopes: content.scopes.count)
            previous.append((device, isNew ? nil : state))
        }
        body(&content)
    }

    private mutating func count(_ entry: Entry, _ sign: Int) {
        size += sign * entry.size
        rowCount += sign
        if entry.hasRows, let table = entry.table { rowCounts[table, default: 0] += sign }
    }

    /// Keeps the rows of the current transaction.
    mutating func commit() {
        for (device, _) in previous { devices[Int(device), default: Device()].isChanged = false }
        previous.removeAll(keepingCapacity: true)
        added.removeAll(keepingCapacity: true)
    }

    /// Removes the rows of the current transaction.
    ///
    /// Nothing of a new device may remain: another device can get its id.
    mutating func rollBack() {
        let first = added.first?.entry.n
        for (_, entry) in added { count(entry, -1) }
        for (device, state) in previous {
            let before = devices[Int(device)]?.filledStreams ?? 0
            if let state {
                devices[Int(device), default: Device()].revert(to: state, before: first)
            } else {
                devices[Int(device)] = nil
            }
            streamCount -= before - (devices[Int(device)]?.filledStreams ?? 0)
        }
        previous.removeAll(keepingCapacity: true)
        added.removeAll(keepingCapacity: true)
    }
}

extension WaitingIndex.Device {
    fileprivate var filledStreams: Int { streams.count { !$0.rows.isEmpty } }

    /// Adds a row.
    /// - Returns: whether it is the first one of its stream with samples.
    fileprivate mutating func add(_ entry: WaitingIndex.Entry) -> Bool {
        if let received = entry.received { figures.recordMessage(at: received) }
        figures.samples += Int64(entry.samples)
        // A device has one epoch, or two after its clock was set.
        if let scope = entry.scope, scopes.last != scope, !scopes.contains(scope) { scopes.append(scope) }
        guard let table = entry.table, let times = entry.times else { return false }
        if table >= 0 { figures.recordSample(at: times.upperBound) }
        guard entry.hasRows else { return false }
        let row = WaitingIndex.Row(n: entry.n, first: times.lowerBound, last: times.upperBound)
        guard let stream = streams.firstIndex(where: { $0.table == table }) else {
            streams.append(WaitingIndex.Stream(table: table, rows: [row], newest: row.last))
            return true
        }
        let isFirst = streams[stream].rows.isEmpty
        // New rows usually follow all others. Backlog is inserted before them.
        let position = (streams[stream].rows.lastIndex { $0.first <= row.first } ?? -1) + 1
        streams[stream].rows.insert(row, at: position)
        streams[stream].newest = isFirst ? row.last : max(streams[stream].newest, row.last)
        return isFirst
    }

    fileprivate mutating func revert(to previous: WaitingIndex.Previous, before n: Int64?) {
        figures = previous.figures
        isChanged = false
        scopes.removeSubrange(previous.scopes...)
        guard let n else { return }
        for stream in streams.indices {
            streams[stream].rows.removeAll { $0.n >= n }
            streams[stream].newest = streams[stream].rows.map(\.last).max() ?? .min
        }
    }
}
