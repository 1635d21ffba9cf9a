import LockstepExport
import LockstepModel
import LockstepStore

/// Finds the times without samples of a stream.
struct GapFinder {
    /// The interval between two samples from which on it is a gap, in µs.
    let limit: Int64
    private var last: Timestamp
    private(set) var samples = 0
    private(set) var gaps: [Range<Timestamp>] = []

    init(from start: Timestamp, limit: Int64) {
        self.limit = limit
        last = start
    }

    /// Adds the next sample.
    mutating func add(_ time: Timestamp) {
        if time - last > limit { gaps.append(last..<time) }
        last = max(last, time)
        samples += 1
    }

    /// Adds the end of the time.
    mutating func end(at end: Timestamp) { if end - last > limit { gaps.append(last..<end) } }
}

/// What is stored of one stream of one device of a session.
struct SessionSeries {
    let device: DeviceAddress
    let stream: SensorStream
    let samples: Int
    /// The times without samples on the collector's clock; nothing for streams without an asked rate.
    let gaps: [Range<Timestamp>]

    /// The number of intervals of the asked rate from which on the time between two samples is a gap, and the shortest gap in
    /// µs.
    private static let intervals = 3.0
    private static let shortest: Int64 = 100_000

    /// Reads the samples of a session.
    /// - Parameter now: the end of a session that has none.
    static func read(_ session: RecordingSession, in reader: StoreReader, now: Timestamp) throws -> [SessionSeries] {
        guard let start = session.start, case let end = session.end ?? now, start < end else { return [] }
        let devices = session.addresses
        var converter = try CollectorTime(of: devices, from: start, to: end, in: reader)
        var result: [SessionSeries] = []
        for stream in try reader.catalog().streams {
            let rate = session.rates[stream.name]
            guard rate != nil || session.rates.isEmpty else { continue }
            let limit = rate.map { max(Self.shortest, Int64(Self.intervals * 1e6 / $0)) } ?? .max
            for device in devices {
                var finder = GapFinder(from: start, limit: limit)
                let range = converter.deviceRange(of: device)
                converter.restart()
                try reader.query(
                    stream: stream, group: device.group, devices: [device.device], from: range.from, to: range.to
                ) { row in
                    if let row = converter.convert(row, columns: stream.columns, appendsBound: false) {
                        finder.add(row.time)
                    }
                }
                finder.end(at: end)
                guard finder.samples > 0 || rate != nil else { continue }
                result.append(
                    SessionSeries(device: device, stream: stream, samples: finder.samples, gaps: finder.gaps))
            }
        }
        return result.sorted { ($0.device, $0.stream.name) < ($1.device, $1.stream.name) }
    }
}
