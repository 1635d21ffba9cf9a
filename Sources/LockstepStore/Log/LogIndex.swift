/// What a log holds of each device, in memory: which times, and the changes of its counters.
///
/// It finds duplicates without reading the log, and leads a merge to the rows of a device. Its size is limited by the
/// number of rows of a log.
struct LogIndex {
    /// Consecutive rows of one stream of a device in one turn. Times increase.
    struct Segment: Equatable {
        let first: Int64
        /// The turn, and the time from `first` to the last row. A log has up to a few million segments.
        private let turnAndLength: UInt64
        /// The number of bits of the length. The others are enough for ``LogKey/maxTurn``.
        private static let lengthBits = UInt64(51)
        private static let maxLength = UInt64(1) << lengthBits - 1

        init(first: Int64, last: Int64, turn: Int64) {
            self.first = first
            // Lengths of 71 years and more are stored as unlimited; such a segment may be searched although it has no
            // matching row.
            let length = min(UInt64(bitPattern: last &- first), Self.maxLength)
            turnAndLength = UInt64(turn) << Self.lengthBits | length
        }

        /// The time of the last row, or a later one if there are more than 71 years between the rows.
        var last: Int64 {
            let length = turnAndLength & Self.maxLength
            return length == Self.maxLength ? .max : first + Int64(length)
        }

        var turn: Int64 { Int64(turnAndLength >> Self.lengthBits) }
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
        /// The number of rows of samples and estimates.
        fileprivate(set) var rows = 0
        /// The numbers of the scopes whose batch numbers the log contains.
        fileprivate(set) var scopes: [Int] = []
        fileprivate(set) var streams: [Stream] = []
        /// Whether the current transaction has changed the device.
        fileprivate var isChanged = false

        mutating func add(scope: Int) {
            // A device has one epoch, or two after its clock was set.
            if scopes.last != scope, !scopes.contains(scope) { scopes.append(scope) }
        }

        /// Returns the time of the newest row of a table, or nil if there is none.
        func newest(of table: Int) -> Int64? {
            streams.first { $0.table == table }.flatMap { $0.segments.isEmpty ? nil : $0.newest }
        }

        /// Calls `body` for the segments of a stream that may contain times of a range.
        func forEachSegment(of table: Int, overlapping times: ClosedRange<Int64>, _ body: (Segment) -> Void) {
            // Usually the range is newer than all segments.
            for stream in streams where stream.table == table && times.lowerBound <= stream.newest {
                for segment in stream.segments
                where segment.first <= times.upperBound && segment.last >= times.lowerBound { body(segment) }
            }
        }
    }

    /// The content of a log for one stream of a device.
    struct Stream {
        /// The index of the stream's table.
        let table: Int
        /// In order of their first times.
        fileprivate(set) var segments: [Segment]
        /// The number of rows. It may be too high after a transaction was rolled back.
        fileprivate(set) var rows: Int
        /// The time of the newest row.
        fileprivate(set) var newest: Int64

        /// The turns that contain rows, each once.
        var turns: [Int64] {
            var seen: Set<Int64> = []
            return segments.compactMap { seen.insert($0.turn).inserted ? $0.turn : nil }
        }
    }

    /// The devices with changes in the log, by their ids.
    private(set) var devices = NumberMap<Device>()
    /// The number of devices with changes in the log.
    private(set) var deviceCount = 0
    /// The number of rows of samples and estimates in the log.
    private(set) var rows = 0
    /// The number of rows before the current transaction.
    private var committedRows = 0
    /// The state before the current transaction of the devices that it has changed, or nil if they were not in the log.
    private var previous: [(device: Int64, state: Previous?)] = []

    fileprivate struct Previous {
        let figures: Figures
        let rows: Int
        let scopes: Int
    }

    /// Adds a segment with `count` rows.
    /// - Parameters:
    ///   - newest: the time of its last row.
    ///   - body: changes the figures and scopes of the device.
    mutating func add(
        _ segment: Segment, newest: Int64, count: Int, of table: Int, device: Int64,
        _ body: (inout Device) -> Void = { _ in }
    ) {
        rows += count
        update(device) { content in
            content.add(segment, newest: newest, count: count, of: table)
            body(&content)
        }
    }

    /// Changes the figures and scopes of a device.
    mutating func update(_ device: Int64, _ body: (inout Device) -> Void) {
        let isNew = devices[Int(device)] == nil
        if isNew { deviceCount += 1 }
        Self.change(&devices[Int(device), default: Device()], of: device, isNew: isNew, keeping: &previous, body)
    }

    /// Changes the content of a device, after its state before the transaction was kept.
    private static func change(
        _ content: inout Device, of device: Int64, isNew: Bool,
        keeping previous: inout [(device: Int64, state: Previous?)],
        _ body: (inout Device) -> Void
    ) {
        if !content.isChanged {
            content.isChanged = true
            let state = Previous(figures: content.figures, rows: content.rows, scopes: content.scopes.count)
            previous.append((device, isNew ? nil : state))
        }
        body(&content)
    }

    /// Returns whether the log contains rows of one of the tables.
    func contains(anyOf tables: [Int]) -> Bool {
        !tables.isEmpty && devices.values.contains { $0.streams.contains { tables.contains($0.table) } }
    }

    /// Keeps the changes of the current transaction.
    mutating func commit() {
        for (device, _) in previous { devices[Int(device), default: Device()].isChanged = false }
        previous.removeAll(keepingCapacity: true)
        committedRows = rows
    }

    /// Reverts the changes of the current transaction, whose rows have the numbers from `turn`.
    ///
    /// Nothing of a new device may remain: another device can get its id.
    mutating func rollBack(turn: Int64?) {
        for (device, state) in previous {
            if let state {
                devices[Int(device), default: Device()].revert(to: state, without: turn)
            } else {
                devices[Int(device)] = nil
                deviceCount -= 1
            }
        }
        previous.removeAll(keepingCapacity: true)
        rows = committedRows
    }
}

extension LogIndex.Device {
    fileprivate mutating func add(_ segment: LogIndex.Segment, newest: Int64, count: Int, of table: Int) {
        rows += count
        guard let stream = streams.firstIndex(where: { $0.table == table }) else {
            streams.append(LogIndex.Stream(table: table, segments: [segment], rows: count, newest: newest))
            return
        }
        // New segments usually follow all others. Backlog is inserted before them.
        let position = (streams[stream].segments.lastIndex { $0.first <= segment.first } ?? -1) + 1
        streams[stream].segments.insert(segment, at: position)
        streams[stream].rows += count
        streams[stream].newest = max(streams[stream].newest, newest)
    }

    fileprivate mutating func revert(to previous: LogIndex.Previous, without turn: Int64?) {
        figures = previous.figures
        rows = previous.rows
        isChanged = false
        scopes.removeSubrange(previous.scopes...)
        guard let turn else { return }
        for stream in streams.indices { streams[stream].segments.removeAll { $0.turn >= turn } }
    }
}
