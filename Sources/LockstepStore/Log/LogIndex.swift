/// What a log holds of each device, in memory: which times, and the changes of its counters.
///
/// It finds duplicates without reading the log, and leads a merge to the rows of a device. Its size is limited by the
/// number of rows of a log.
struct LogIndex {
    /// Consecutive rows of one stream of a device in one turn. Times increase.
    struct Segment: Equatable {
        let first: Int64
        let last: Int64
        let turn: Int64
    }

    /// The counters of a device, as changes to its row in the table `merged_devices`.
    struct Figures: Equatable {
        var samples: Int64 = 0
        var duplicates: Int64 = 0
        var conflicts: Int64 = 0
        /// The time of the first message in the log, in µs since 1970.
        var firstSeen: Int64?
        /// The time of the last message in the log, in µs since 1970.
        var lastSeen: Int64?
        /// The time of the newest sample in the log, in µs since 1970.
        var newest: Int64?

        mutating func recordMessage(at time: Int64) {
            firstSeen = min(firstSeen ?? time, time)
            lastSeen = max(lastSeen ?? time, time)
        }

        mutating func recordSample(at time: Int64) { newest = max(newest ?? time, time) }

        mutating func add(_ other: Figures) {
            samples += other.samples
            duplicates += other.duplicates
            conflicts += other.conflicts
            if let time = other.firstSeen { recordMessage(at: time) }
            if let time = other.lastSeen { recordMessage(at: time) }
            if let time = other.newest { recordSample(at: time) }
        }
    }

    /// The content of a log for one device.
    struct Device {
        var figures = Figures()
        /// The number of rows of samples.
        fileprivate(set) var rows = 0
        /// The epochs whose batch numbers the log contains.
        fileprivate(set) var epochs: [DeviceEpoch] = []
        fileprivate(set) var streams: [Stream] = []

        mutating func add(_ epoch: DeviceEpoch) {
            // A device has one epoch, or two after its clock was set.
            if !epochs.contains(epoch) { epochs.append(epoch) }
        }

        /// Returns the segments of a stream that may contain times of a range.
        func segments(of table: Int, overlapping times: ClosedRange<Int64>) -> [Segment] {
            // Usually the range is newer than all segments.
            guard let stream = streams.first(where: { $0.table == table }), times.lowerBound <= stream.newest else {
                return []
            }
            return stream.segments.filter { $0.first <= times.upperBound && $0.last >= times.lowerBound }
        }
    }

    /// The content of a log for one stream of a device.
    struct Stream {
        /// The index of the stream's table.
        let table: Int
        /// In order of their first times.
        fileprivate(set) var segments: [Segment]
        /// The time of the newest row.
        fileprivate(set) var newest: Int64

        /// The turns that contain rows, each once.
        var turns: [Int64] {
            var seen: Set<Int64> = []
            return segments.compactMap { seen.insert($0.turn).inserted ? $0.turn : nil }
        }
    }

    /// The devices with changes in the log, by their ids.
    private(set) var devices: [Int64: Device] = [:]
    /// The number of rows of samples in the log.
    private(set) var rows = 0
    /// The number of rows before the current transaction.
    private var committedRows = 0
    /// The state before the current transaction of the devices that it has changed, or nil if they were not in the log.
    private var previous: [Int64: Previous?] = [:]

    fileprivate struct Previous {
        let figures: Figures
        let rows: Int
        let epochs: Int
    }

    /// Adds a segment with `count` rows.
    mutating func add(_ segment: Segment, count: Int, of table: Int, device: Int64) {
        keepPrevious(device)
        rows += count
        devices[device, default: Device()].add(segment, count: count, of: table)
    }

    /// Changes the figures and epochs of a device.
    mutating func update(_ device: Int64, _ body: (inout Device) -> Void) {
        keepPrevious(device)
        body(&devices[device, default: Device()])
    }

    /// Returns whether the log contains rows of one of the tables.
    func contains(anyOf tables: [Int]) -> Bool {
        !tables.isEmpty && devices.values.contains { $0.streams.contains { tables.contains($0.table) } }
    }

    /// Keeps the changes of the current transaction.
    mutating func commit() {
        previous.removeAll(keepingCapacity: true)
        committedRows = rows
    }

    /// Reverts the changes of the current transaction, whose rows have the number `turn`.
    ///
    /// Nothing of a new device may remain: another device can get its id.
    mutating func rollBack(turn: Int64?) {
        for (device, state) in previous {
            if let state { devices[device]?.revert(to: state, without: turn) } else { devices[device] = nil }
        }
        previous.removeAll(keepingCapacity: true)
        rows = committedRows
    }

    private mutating func keepPrevious(_ device: Int64) {
        guard previous[device] == nil else { return }
        let state = devices[device].map { Previous(figures: $0.figures, rows: $0.rows, epochs: $0.epochs.count) }
        previous.updateValue(state, forKey: device)
    }
}

extension LogIndex.Device {
    fileprivate mutating func add(_ segment: LogIndex.Segment, count: Int, of table: Int) {
        rows += count
        guard let stream = streams.firstIndex(where: { $0.table == table }) else {
            streams.append(LogIndex.Stream(table: table, segments: [segment], newest: segment.last))
            return
        }
        // New segments usually follow all others. Backlog is inserted before them.
        let position = (streams[stream].segments.lastIndex { $0.first <= segment.first } ?? -1) + 1
        streams[stream].segments.insert(segment, at: position)
        streams[stream].newest = max(streams[stream].newest, segment.last)
    }

    fileprivate mutating func revert(to previous: LogIndex.Previous, without turn: Int64?) {
        figures = previous.figures
        rows = previous.rows
        epochs.removeSubrange(previous.epochs...)
        guard let turn else { return }
        for stream in streams.indices { streams[stream].segments.removeAll { $0.turn == turn } }
    }
}
