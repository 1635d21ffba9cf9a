public import LockstepModel
public import LockstepStore

extension RecordingSession {
    /// The number of intervals of the asked rate from which on the time between two samples is a gap, and the shortest gap in
    /// µs.
    private static let gapIntervals = 3.0
    private static let shortestGap: Int64 = 100_000

    /// Reads which samples of the session are stored, and the times without samples of streams with an asked rate.
    ///
    /// It reads all samples of the session. Times are on the collector's clock.
    /// - Parameters:
    ///   - now: the end of a session that has none.
    ///   - isCancelled: returns whether to stop early.
    /// - Throws: `StoreError` if the store cannot be read; `CancellationError`.
    public func series(
        in reader: StoreReader, now: Timestamp, isCancelled: () -> Bool = { false }
    ) throws -> [Series] {
        guard let start, case let end = end ?? now, start < end else { return [] }
        var converter = try CollectorTime(of: addresses, from: start, to: end, in: reader)
        var result: [Series] = []
        for stream in try reader.catalog().streams {
            let rate = rates[stream.name]
            guard rate != nil || rates.isEmpty else { continue }
            for device in addresses {
                guard !isCancelled() else { throw CancellationError() }
                var finder = GapFinder(from: start, rate: rate)
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
                    Series(device: device.device, stream: stream.name, samples: finder.samples, gaps: finder.gaps))
            }
        }
        return result.sorted { ($0.device, $0.stream) < ($1.device, $1.stream) }
    }

    /// Finds the times without samples of a stream.
    struct GapFinder {
        private let rate: Double?
        private let limit: Int64
        private var last: Timestamp
        private(set) var samples = 0
        private(set) var gaps: [Gap] = []

        /// - Parameter rate: the asked rate, in samples per second, or nil to find none.
        init(from start: Timestamp, rate: Double?) {
            self.rate = rate
            limit = rate.map { max(shortestGap, Int64(gapIntervals * 1e6 / $0)) } ?? .max
            last = start
        }

        /// Adds the next sample.
        mutating func add(_ time: Timestamp) {
            end(at: time)
            last = max(last, time)
            samples += 1
        }

        /// Adds the end of the time.
        mutating func end(at end: Timestamp) {
            guard let rate, end - last > limit else { return }
            gaps.append(Gap(from: last, to: end, rate: rate))
        }
    }
}
