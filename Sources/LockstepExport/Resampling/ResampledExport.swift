public import LockstepModel
public import LockstepStore

/// One table of the streams of several devices on one clock, with a row for each instant k / rate since 1970.
///
/// Memory does not grow with the time range: it is read in parts of at most a million values, with the samples beside them.
public struct ResampledExport: Sendable {
    /// A stream of a device.
    private struct Series: Sendable {
        let device: DeviceAddress
        let stream: SensorStream
        let resampler: SeriesResampler
    }

    private let series: [Series]
    private let rate: Double
    private let range: Range<Timestamp>
    private let isCollectorTime: Bool

    /// The number of values that are held at once.
    private static let maxValues = 1_000_000
    /// The number of samples from which the usual interval of a stream is found.
    private static let firstSamples = 1000

    private struct Enough: Error {}

    /// Looks up which of the streams and devices have samples.
    /// - Parameters:
    ///   - rate: the rows per second, above 0.
    ///   - range: the time range, on the collector's clock if `isCollectorTime` is true, otherwise on those of the devices.
    ///   - gap: see ``SeriesResampler/gap``, or nil for that of each stream by its first samples.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public init(
        _ streams: [SensorStream], of devices: [DeviceAddress], rate: Double, range: Range<Timestamp>,
        isCollectorTime: Bool, gap: Int64?, in reader: any MergeReading & ClockEstimateReading
    ) throws {
        precondition(rate > 0, "the rate must be above 0")
        (self.rate, self.range, self.isCollectorTime) = (rate, range, isCollectorTime)
        var series: [Series] = []
        for device in devices {
            for stream in streams {
                // The rate may have been another one before the range.
                let clock =
                    isCollectorTime
                    ? try CollectorTime(of: [device], from: range.lowerBound, to: range.upperBound, in: reader) : nil
                let own = clock?.deviceRange(of: device) ?? (range.lowerBound, range.upperBound)
                var times = try Self.firstTimes(of: stream, device, from: own.0, to: own.1, reader)
                if times.count < 2 { times = try Self.firstTimes(of: stream, device, from: nil, to: nil, reader) }
                guard !times.isEmpty else { continue }
                let resampler = SeriesResampler(stream, gap: gap ?? SeriesResampler.gap(of: times) ?? 0)
                series.append(Series(device: device, stream: stream, resampler: resampler))
            }
        }
        self.series = series
    }

    /// Returns the times of the first samples in a range.
    private static func firstTimes(
        of stream: SensorStream, _ device: DeviceAddress, from: Timestamp?, to: Timestamp?, _ reader: any MergeReading
    ) throws -> [Int64] {
        var times: [Int64] = []
        do {
            try reader.merge(streams: [stream], devices: [device], from: from, to: to) { row, _ in
                times.append(row.time.microseconds)
                if times.count == firstSamples { throw Enough() }
            }
        } catch is Enough {}
        return times
    }

    /// The columns of the table after `t` and `time`: `GROUP/DEVICE/TABLE_COLUMN`.
    public var columns: [ExportColumn] {
        series.flatMap { series in
            series.resampler.columns.map {
                ExportColumn(name: "\(series.device)/\(series.stream.table)_\($0.name)", kind: $0.kind)
            }
        }
    }

    /// Reads the samples and writes the table. Rows without a value are left out.
    /// - Parameters:
    ///   - writer: writes rows with ``columns``.
    ///   - write: receives the bytes in pieces; an error that it throws ends the export.
    ///   - update: is called after each part.
    /// - Returns: the number of rows.
    /// - Throws: ``StoreError``, or the errors of `write` and `update`.
    public func run(
        in reader: any MergeReading & ClockEstimateReading, writer: any RowWriter, write: ([UInt8]) throws -> Void,
        update: (SampleExport.Progress) throws -> Void = { _ in }
    ) throws -> Int {
        var writer = writer
        var output = OutputBuffer()
        var progress = SampleExport.Progress()
        writer.begin(into: &output)
        let (first, last) = (index(of: range.lowerBound), index(of: range.upperBound))
        let length = Double(max(10, Self.maxValues / max(1, columns.count)))
        for start in stride(from: first, to: last, by: length) {
            let times = stride(from: start, to: min(last, start + length), by: 1).map {
                Int64(($0 * 1e6 / rate).rounded())
            }
            let parts = try series.map {
                try $0.resampler.values(of: samples(of: $0, around: times, reader), at: times)
            }
            for (row, time) in times.enumerated() {
                let values = parts.flatMap { $0[row] }
                guard values.contains(where: { !$0.isNaN }) else { continue }
                writer.write(
                    SampleRow(device: series[0].device, time: Timestamp(microseconds: time), values: values),
                    into: &output)
                progress.samples += 1
                if output.isFull {
                    try write(output.bytes)
                    output.removeAll()
                }
            }
            progress.fraction = min(1, (start + length - first) / (last - first))
            try update(progress)
        }
        guard progress.samples > 0 else { return 0 }
        writer.end(into: &output)
        try write(output.bytes)
        return progress.samples
    }

    /// Returns the number of the first instant at or after a time.
    private func index(of time: Timestamp) -> Double { (Double(time.microseconds) * rate / 1e6).rounded(.up) }

    /// Reads the samples of some times, with the nearest ones before and after them.
    private func samples(
        of series: Series, around times: [Int64], _ reader: any MergeReading & ClockEstimateReading
    ) throws -> [(time: Int64, values: [Double])] {
        guard let first = times.first, let last = times.last else { return [] }
        let from = Timestamp(microseconds: first - series.resampler.gap)
        let to = Timestamp(microseconds: last + series.resampler.gap + 1)
        var clock = isCollectorTime ? try CollectorTime(of: [series.device], from: from, to: to, in: reader) : nil
        let own = clock?.deviceRange(of: series.device) ?? (from, to)
        var samples: [(time: Int64, values: [Double])] = []
        var next = 0
        try reader.merge(streams: [series.stream], devices: [series.device], from: own.0, to: own.1) { row, _ in
            let isConverted = clock != nil
            guard
                let row = isConverted
                    ? clock?.convert(row, columns: series.stream.columns, appendsBound: false) : row
            else { return }
            // A sample without an instant between its neighbours is not needed: the rate may be far below the sensor's.
            if samples.count > 1 {
                while next < times.count, times[next] <= samples[samples.count - 2].time { next += 1 }
                if next == times.count || times[next] >= row.time.microseconds { samples.removeLast() }
            }
            samples.append((row.time.microseconds, row.values))
        }
        return samples
    }
}
