import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// Copies an SQLite store to a ClickHouse database, hour by hour.
///
/// An hour whose samples have the same number and hash in both stores is skipped. So a copy that was interrupted
/// continues where it ended, and a copy of a store that has grown adds what is new.
struct StoreCopy {
    /// What was done and found.
    struct Report {
        var devices = 0
        /// The number of hours with samples, counted for each device and stream.
        var hours = 0
        var samples = 0
        /// The number of samples that were inserted.
        var copied = 0
        /// The number of samples that are not in the target after the copy.
        var missing = 0
        /// The number of samples for whose time the target shows other values.
        var different = 0
        /// The numbers of sessions, events, conflicts and rejected messages of the source that the target can hold.
        var sessions = 0
        var events = 0
        var conflicts = 0
        var rejected = 0

        var isComplete: Bool { missing == 0 && different == 0 }
    }

    /// The maximum number of samples that are compared at once.
    private static let maxCompared = 10_000

    let source: StoreReader
    let target: CopyTarget
    let check: StoreReader
    /// Is called after each hour with the device and the stream.
    let update: (Report, DeviceAddress, SensorStream) -> Void
    private(set) var report = Report()
    /// What people have deleted from the target only.
    private var removed: [Deletion] = []

    init(
        source: StoreReader, target: CopyTarget, check: StoreReader,
        update: @escaping (Report, DeviceAddress, SensorStream) -> Void
    ) {
        self.source = source
        self.target = target
        self.check = check
        self.update = update
    }

    /// Copies everything.
    mutating func run() throws -> Report {
        // Batch numbers are read before the samples: a collector may still write to the source.
        // The states of rules are those of the devices at the same time.
        let (ruleStates, devices, sessions) = try source.snapshot {
            (try source.ruleStates(), try source.devices(), try source.sessions())
        }
        report.devices = devices.count
        // First, because what is copied now was not deleted.
        let deletions = try source.deletions(of: nil)
        if let pending = deletions.first(where: { $0.done == nil })?.deletion {
            throw CommandFailure(
                "samples of \(pending.device) are being deleted from the source: repeat the command when 'lockstep delete "
                    + "--list' says that this is done. The collector does it, or goes on with it when it starts")
        }
        try target.insert(deletions)
        let own = Set(deletions.map(\.deletion.id))
        removed = try check.deletions(of: nil).map(\.deletion).filter { !own.contains($0.id) }
        try target.insert(try source.expiries())
        for stream in try source.catalog().streams {
            for device in devices.map(\.record.address) { try copy(stream, of: device) }
        }
        var transitions: [DeviceTransition] = []
        for device in devices.map(\.record.address) {
            for change in try source.transitions(of: device, limit: .max) {
                transitions.append(DeviceTransition(device: device, transition: change))
            }
        }
        try copyRecords(of: devices.map(\.record.address))
        try target.insert(sessions)
        report.sessions = sessions.count
        // Like batch numbers, these states say that the samples are stored.
        if report.isComplete { try target.insert(ruleStates, of: devices) }
        // With its number, a batch counts as received: an agent would not send its samples again.
        try target.insert(devices, transitions: transitions, withBatches: report.isComplete)
        return report
    }

    /// Copies estimates of clocks, conflicts, rejected messages and events.
    private mutating func copyRecords(of devices: [DeviceAddress]) throws {
        let streams = try source.catalog().streams
        for device in devices {
            try target.insert(try source.storedClocks(of: device))
            report.conflicts += try target.insert(try source.conflicts(of: device), of: device, streams)
        }
        // A collector would delete older ones when it starts.
        let oldest = Moment.now().wall.microseconds - CopyTarget.rejectedAge
        let rejected = try source.rejections(from: Timestamp(microseconds: oldest))
        try target.insert(rejected)
        report.rejected = rejected.count
        var eventCopy = EventCopy(target)
        var last: Int64 = 0
        while true {
            let (events, deliveries) = try source.storedEvents(after: last, limit: EventCopy.maxEvents)
            guard let newest = events.last else { break }
            last = newest.id
            try eventCopy.insert(events, deliveries)
            report.events += events.count
        }
    }

    private mutating func copy(_ stream: SensorStream, of device: DeviceAddress) throws {
        guard let range = try source.timeRanges(of: stream, devices: [device])[device] else { return }
        let known = try target.hours(of: device, stream)
        var found: [Int64: HourSummary] = [:]
        let last = HourSummary.hour(of: range.upperBound.microseconds)
        var hour = HourSummary.hour(of: range.lowerBound.microseconds)
        while hour <= last {
            // The hours between two samples that are far apart are skipped.
            guard let next = try nextTime(of: stream, device, from: hour) else { break }
            hour = HourSummary.hour(of: next)
            let block = try samples(of: stream, device, hour)
            guard !block.times.isEmpty else {
                hour += 1
                continue
            }
            var summary = HourSummary()
            summary.add(block)
            found[hour] = summary
            report.hours += 1
            report.samples += summary.count
            if known[hour] != summary {
                try target.insert(block, of: device)
                report.copied += summary.count
            }
            update(report, device, stream)
            hour += 1
        }
        let stored = try target.hours(of: device, stream)
        for (hour, summary) in found where stored[hour] != summary { try compare(stream, of: device, hour) }
    }

    /// Compares the samples of an hour one by one. The target may have more than the source.
    private mutating func compare(_ stream: SensorStream, of device: DeviceAddress, _ hour: Int64) throws {
        let block = try samples(of: stream, device, hour)
        for start in stride(from: 0, to: block.times.count, by: Self.maxCompared) {
            var part = SampleBlock(stream: stream)
            for index in start..<min(start + Self.maxCompared, block.times.count) {
                part.append(
                    time: Timestamp(microseconds: block.times[index]), values: block.columns.map { $0[index] })
            }
            let comparison = try check.compare(part, of: device)
            report.missing += comparison.missing.count
            report.different += comparison.different.count
        }
    }

    private func nextTime(of stream: SensorStream, _ device: DeviceAddress, from hour: Int64) throws -> Int64? {
        let start = Timestamp(microseconds: hour * HourSummary.length)
        return try source.timeRanges(of: stream, devices: [device], from: start)[device]?.lowerBound.microseconds
    }

    private func samples(of stream: SensorStream, _ device: DeviceAddress, _ hour: Int64) throws -> SampleBlock {
        var block = SampleBlock(stream: stream)
        let removed = removed.filter { $0.device == device && $0.covers(stream) }
        try source.query(
            stream: stream, group: device.group, devices: [device.device],
            from: Timestamp(microseconds: hour * HourSummary.length),
            to: Timestamp(microseconds: (hour + 1) * HourSummary.length)
        ) { row in
            guard !removed.contains(where: { $0.times.contains(row.time.microseconds) }) else { return }
            block.append(time: row.time, values: row.values)
        }
        return block
    }
}
