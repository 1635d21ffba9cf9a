import LockstepClickHouse
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore

/// Copies a session that has ended from a store, or from a folder, to another store: its labels, devices and markers, the
/// samples of its devices between its start and its end, as these have sent them, and the estimates of their clocks. A
/// folder has samples on the collector's clock.
///
/// Batch numbers, states and everything else of the devices stay: the target does not know what else they have sent. So the
/// same copy may be repeated, and devices may send to the target later.
struct SessionCopy {
    /// What was done and found.
    struct Report {
        let session: RecordingSession.Key
        var samples = 0
        /// The number of samples that were inserted.
        var copied = 0
        /// The number of samples that are not in the target after the copy, because they were deleted or have expired there.
        var missing = 0
        /// The number of samples for whose time the target has other values.
        var different = 0

        var isComplete: Bool { missing == 0 && different == 0 }
    }

    /// A store that is written.
    enum Target {
        case sqlite(SQLiteStore)
        case clickHouse(CopyTarget)
    }

    /// The maximum number of samples that are copied at once.
    private static let maxSamples = 10_000
    /// That of the estimates that a copied export gets.
    private static let epoch = Epoch(unchecked: "export")

    let target: Target
    /// Reads the target.
    let check: StoreReader
    /// Is called after each part.
    let update: (Report) -> Void

    func run(_ session: RecordingSession, in source: StoreReader) throws -> Report {
        let (start, end, _) = try examine(session)
        var report = Report(session: session.key)
        var converter = try CollectorTime(of: session.addresses, from: start, to: end, in: source)
        let streams = try source.catalog().streams
        for device in session.addresses {
            let range = converter.deviceRange(of: device)
            for stream in streams where start < end {
                var block = SampleBlock(stream: stream)
                converter.restart()
                try source.query(
                    stream: stream, group: device.group, devices: [device.device], from: range.from, to: range.to
                ) { row in
                    guard converter.convert(row, columns: stream.columns, appendsBound: false) != nil else { return }
                    block.append(time: row.time, values: row.values)
                    guard block.times.count == Self.maxSamples else { return }
                    try copy(block, of: device, &report)
                    block = SampleBlock(stream: stream)
                }
                try copy(block, of: device, &report)
            }
            try insert(try source.storedClocks(of: device).near(range.from ?? start, range.to ?? end))
        }
        try insert(session)
        return report
    }

    /// Copies what an export has. Its times are on the collector's clock, so that a target that has the samples with those of
    /// the devices' clocks would get them twice.
    func run(_ folder: SessionFolder) throws -> Report {
        let session = folder.session
        let (start, end, known) = try examine(session)
        guard known == nil else { throw CommandFailure("the target has the session '\(session.key.id)' already") }
        // All is checked before anything is written. An interrupted copy may be repeated.
        let streams = try check.catalog().streams
        var (same, stored) = (0, 0)
        let bounds = try folder.read(streams: streams, maxSamples: Self.maxSamples) { block, device in
            same += try check.compare(block, of: device).present
        }
        for stream in streams {
            try check.query(
                stream: stream, group: session.key.group, devices: Array(session.devices.keys), from: start, to: end
            ) { _ in stored += 1 }
        }
        let hasClocks = try session.addresses.contains { device in
            try check.storedClocks(of: device).contains {
                $0.epoch != Self.epoch && start <= $0.point.time && $0.point.time < end
            }
        }
        guard stored == same, !hasClocks else {
            throw CommandFailure(
                "the target has other samples or estimates of the clocks of these devices between start and end of the "
                    + "session: copy it to another store")
        }
        var report = Report(session: session.key)
        try folder.read(streams: streams, maxSamples: Self.maxSamples) { try copy($0, of: $1, &report) }
        // Estimates of other times are not for these samples.
        for (device, bounds) in bounds {
            let collector = try check.clockPoints(of: device).first?.collector ?? CollectorID(unchecked: "main")
            try insert(
                bounds.sorted { $0.key < $1.key }.map { time, bound in
                    let point = ClockPoint(
                        collector: collector, time: time, segment: start, offset: 0, skew: 0, bound: bound,
                        skewBound: 0)
                    return DeviceClock(device: device, epoch: Self.epoch, point: point)
                })
        }
        if report.isComplete { try insert(session) }
        return report
    }

    /// Returns start and end of a session that has ended, and the same session in the target, or nil.
    /// - Throws: ``CommandFailure`` if it has not ended, or the target has another one with the id.
    private func examine(
        _ session: RecordingSession
    ) throws -> (start: Timestamp, end: Timestamp, known: RecordingSession?) {
        guard !session.isRunning, let start = session.start, let end = session.end else {
            throw CommandFailure("the session '\(session.key.id)' has not ended: stop it first")
        }
        let found = try check.sessions().first { $0.key == session.key }
        guard let found, found.created != session.created else { return (start, end, found) }
        throw CommandFailure(
            "the target has another session with the id '\(session.key.id)' in the group '\(session.key.group)', "
                + "'\(found.name)': delete it first")
    }

    private func copy(_ block: SampleBlock, of device: DeviceAddress, _ report: inout Report) throws {
        guard !block.times.isEmpty else { return }
        report.samples += block.times.count
        let before = try check.compare(block, of: device)
        report.different += before.different.count
        report.missing += before.deleted + before.expired
        if !before.missing.isEmpty {
            let missing = Set(before.missing)
            var new = SampleBlock(stream: block.stream)
            for (index, time) in block.times.enumerated() where missing.contains(time) {
                new.append(time: Timestamp(microseconds: time), values: block.columns.map { $0[index] })
            }
            switch target {
            case .sqlite(let store):
                let batch = Batch(position: nil, isLive: false, samples: new)
                try store.write(
                    IngestGroup(batches: [ReceivedBatch(device: device, batch: batch, receivedAt: Moment.now().wall)]))
            case .clickHouse(let target): try target.insert(new, of: device)
            }
            let missed = try check.compare(new, of: device).missing.count
            report.missing += missed
            report.copied += new.times.count - missed
        }
        update(report)
    }

    private func insert(_ clocks: [DeviceClock]) throws {
        switch target {
        case .sqlite(let store):
            var group = IngestGroup()
            group.clocks = clocks
            try store.write(group)
        case .clickHouse(let target): try target.insert(clocks)
        }
    }

    private func insert(_ session: RecordingSession) throws {
        let own = Set(session.markers.map(\.id))
        // After an earlier copy, the session may have been split.
        let copied = try check.sessions().first { $0.key == session.key }
        let gone = copied?.markers.filter { marker in
            guard let end = session.end, let oldEnd = copied?.end else { return false }
            return !own.contains(marker.id) && marker.time >= end && marker.time < oldEnd
        }.map(\.id)
        switch target {
        case .sqlite(let store):
            var group = IngestGroup()
            group.sessions = [session]
            group.splits = [(session.key, gone ?? [])]
            group.markers = session.markers.map { (session.key, $0) }
            try store.write(group)
        case .clickHouse(let target):
            let known = Set(try check.devices().map(\.address))
            try target.insert(session.addresses.filter { !known.contains($0) })
            try target.insert([session])
            try target.deleteMarkers(gone ?? [], of: session.key)
        }
    }
}

extension [DeviceClock] {
    /// Returns the estimates between two times on the device's time line, and those that are nearest to them.
    fileprivate func near(_ start: Timestamp, _ end: Timestamp) -> [DeviceClock] {
        let before = lastIndex { $0.point.time < start } ?? startIndex
        let after = firstIndex { $0.point.time > end } ?? endIndex - 1
        return before <= after ? Array(self[before...after]) : []
    }
}
