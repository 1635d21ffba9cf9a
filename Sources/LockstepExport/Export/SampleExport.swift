public import LockstepModel
public import LockstepStore

/// An export of the samples of some devices in a time range: what to read, and in which order.
public struct SampleExport: Sendable {
    /// The samples.
    public let subject: ExportSubject
    /// The file format.
    public let format: ExportFormat
    /// The start of the time range (inclusive), or nil for no limit.
    public let from: Timestamp?
    /// The end of the time range (exclusive), or nil for no limit.
    public let to: Timestamp?
    /// The conversion to the collector's time line, or nil for the devices' own times.
    public let collectorTime: CollectorTime?

    /// Up to this number of devices, the samples of all devices are merged by time, if the format does so. For more, each
    /// device needs memory for its statements.
    private static let maxMergedDevices = 32

    /// The progress of an export.
    public struct Progress: Sendable, Equatable {
        /// The number of exported samples.
        public var samples = 0
        /// The part that is done, from 0 to 1.
        public var fraction = 0.0
    }

    /// Creates an export.
    /// - Precondition: the subject can be exported in this format.
    public init(
        _ subject: ExportSubject, format: ExportFormat, from: Timestamp? = nil, to: Timestamp? = nil,
        collectorTime: CollectorTime? = nil
    ) {
        precondition(subject.formats.contains(format), "this subject cannot be exported as \(format)")
        self.subject = subject
        self.format = format
        self.from = from
        self.to = to
        self.collectorTime = collectorTime
    }

    /// The greatest number of devices in one file, or nil if there is no limit.
    public var maxDevices: Int? {
        format == .mcap ? (MCAPWriter.maxChannels - 1) / MCAPWriter.channels(streams: subject.streams) : nil
    }

    /// Returns the times of the oldest and newest sample of each device that has any, over all streams.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func timeRanges(
        of devices: [DeviceAddress], in reader: any MergeReading
    ) throws(StoreError) -> [DeviceAddress: ClosedRange<Timestamp>] {
        guard let collectorTime else { return try timeRanges(of: devices, in: reader, from: from, to: to) }
        var result: [DeviceAddress: ClosedRange<Timestamp>] = [:]
        for device in devices {
            let range = collectorTime.deviceRange(of: device)
            result[device] = try timeRanges(of: [device], in: reader, from: range.from, to: range.to)[device]
        }
        return result
    }

    /// Returns the times of the oldest and newest sample of each device, ignoring the time range of the export.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func storedTimeRanges(
        of devices: [DeviceAddress], in reader: any MergeReading
    ) throws(StoreError) -> [DeviceAddress: ClosedRange<Timestamp>] {
        try timeRanges(of: devices, in: reader, from: nil, to: nil)
    }

    private func timeRanges(
        of devices: [DeviceAddress], in reader: any MergeReading, from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> [DeviceAddress: ClosedRange<Timestamp>] {
        var result: [DeviceAddress: ClosedRange<Timestamp>] = [:]
        for stream in subject.streams {
            let ranges = try reader.timeRanges(of: stream, devices: devices, from: from, to: to)
            result.merge(ranges) { left, right in
                min(left.lowerBound, right.lowerBound)...max(left.upperBound, right.upperBound)
            }
        }
        return result
    }

    /// Reads the samples and writes the file.
    /// - Parameters:
    ///   - ranges: the devices with samples, each with the times of its oldest and newest sample, for the progress.
    ///   - reader: the store.
    ///   - gap: the interval between two fixes, in µs, from which on a track has a new segment.
    ///   - creator: the name and version of the program, for formats that contain it.
    ///   - write: receives the bytes, in pieces of at least 64 KB except for the last one. An error that it throws ends
    ///     the export. It is not called if there are no samples, or before the first of them.
    ///   - update: is called from time to time. An error that it throws ends the export.
    /// - Returns: the number of samples.
    /// - Throws: ``StoreError``, or the errors of `write` and `update`.
    public func run(
        ranges: [DeviceAddress: ClosedRange<Timestamp>], in reader: any MergeReading, gap: Int64, creator: String,
        write: ([UInt8]) throws -> Void, update: (Progress) throws -> Void = { _ in }
    ) throws -> Int {
        let devices = ranges.keys.sorted()
        // The order by time of several devices differs between their own clocks and the collector's.
        let isMerged = format.mergesDevices && devices.count <= Self.maxMergedDevices && collectorTime == nil
        let sets = isMerged ? [devices] : devices.map { [$0] }
        var converter = collectorTime
        var writer = subject.writer(
            format: format, gap: gap, creator: creator, hasBound: converter != nil && format.hasColumns)
        var output = OutputBuffer()
        var progress = Progress()
        writer.begin(into: &output)
        for (index, set) in sets.enumerated() {
            let span = Self.span(of: set, in: ranges)
            let (from, to) = converter?.deviceRange(of: set[0]) ?? (self.from, self.to)
            var untilUpdate = Self.updateInterval
            try reader.merge(streams: subject.streams, devices: set, from: from, to: to) { row, stream in
                guard subject.contains(row), let converted = convert(row, stream, &converter),
                    format.represents(converted.time)
                else { return }
                writer.write(converted, stream: stream, into: &output)
                progress.samples += 1
                if output.isFull { try Self.flush(&output, write) }
                untilUpdate -= 1
                guard untilUpdate == 0 else { return }
                untilUpdate = Self.updateInterval
                let within = Double(row.time - span.lowerBound) / Double(max(1, span.upperBound - span.lowerBound))
                progress.fraction = (Double(index) + within) / Double(sets.count)
                try update(progress)
            }
        }
        guard progress.samples > 0 else { return 0 }
        writer.end(into: &output)
        try Self.flush(&output, write)
        progress.fraction = 1
        try update(progress)
        return progress.samples
    }

    private func convert(_ row: SampleRow, _ stream: Int, _ converter: inout CollectorTime?) -> SampleRow? {
        guard converter != nil else { return row }
        return converter?.convert(
            row, stream: stream, columns: subject.streams[stream].columns, appendsBound: format.hasColumns)
    }

    /// The number of samples between two updates.
    private static let updateInterval = 1024

    private static func flush(_ output: inout OutputBuffer, _ write: ([UInt8]) throws -> Void) throws {
        try write(output.bytes)
        output.removeAll()
    }

    private static func span(
        of devices: [DeviceAddress], in ranges: [DeviceAddress: ClosedRange<Timestamp>]
    ) -> ClosedRange<Timestamp> {
        let spans = devices.compactMap { ranges[$0] }
        let start = spans.map(\.lowerBound).min() ?? Timestamp(microseconds: 0)
        return start...max(start, spans.map(\.upperBound).max() ?? start)
    }
}
