import ArgumentParser
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepMotion
import LockstepStore
import LockstepWire

struct AlignCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "align",
        abstract: "Find the time offset of two devices that were shaken or walked together.",
        usage: "lockstep align <first> <second> [--store <store>] [<options>]",
        discussion: """
            Compares the magnitude of the acceleration or of the rotation rate of both devices, and prints the first \
            device's time minus the second's with a bound of the error, and the drift of long recordings. It does not \
            use the clock estimates of the store, so it checks them independently. Shake both devices together for \
            ten seconds, in an irregular rhythm: regular steps fit at several offsets.

            EXAMPLES
              lockstep align left right --store sqlite:samples.db --from -5m
              lockstep align lab/left lab/right --stream gyroscope --json
            """)

    @Argument(help: "First device, as [GROUP/]DEVICE.", transform: DeviceArgument.init(parsing:))
    var first: DeviceArgument

    @Argument(help: "Second device, as [GROUP/]DEVICE.", transform: DeviceArgument.init(parsing:))
    var second: DeviceArgument

    @OptionGroup var options: StoreOptions

    @Option(help: "Stream to compare: accelerometer or gyroscope.")
    var stream = "accelerometer"

    @OptionGroup var times: TimeRangeOptions

    @Option(help: "Offsets to search: at most so far from --near, up to 10m.")
    var maxOffset = "60s"

    @Option(
        parsing: .unconditional,
        help: "Approximate offset in seconds, the first device's time minus the second's, for clocks that were not set."
    )
    var near = 0.0

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let (from, to) = try times.range(now: Moment.now().wall)
        let reach = try parseDuration(maxOffset)
        guard (100_000...600_000_000).contains(reach) else {
            throw CommandFailure("--max-offset must be from 100ms to 10m, not '\(maxOffset)'")
        }
        // Up to a hundred years: a clock that was not set may be far off.
        guard near.magnitude <= 3.2e9 else { throw CommandFailure("--near \(near): use an offset in seconds") }
        let reader = try options.reader()
        let known = try reader.devices().map(\.address)
        let devices = try (first.onlyAddress(among: known, option: ""), second.onlyAddress(among: known, option: ""))
        guard devices.0 != devices.1 else { throw CommandFailure("\(devices.0) is given twice: name two devices") }
        let motion = try StoredMagnitudes(
            reader: reader, devices: devices, stream: AlignedStream(named: stream), from: from, to: to,
            offsets: (Int64(near * 1e6) - reach)...(Int64(near * 1e6) + reach))
        let alignment = try motion.alignment()
        let clocks = try CollectorTime(of: [devices.0, devices.1], from: nil, to: nil, in: reader)
        let report = AlignReport(devices: devices, stream: motion.stream, alignment: alignment, clocks: clocks)
        Terminal.output.write(json ? report.json : report.text)
    }
}

/// A stream whose magnitude shows motion.
struct AlignedStream {
    let stream: SensorStream
    /// The smallest standard deviation of its magnitude that counts as motion: several times the noise of a sensor.
    let minMotion: Double

    init(named name: String) throws {
        switch name {
        case SensorStream.accelerometer.name, SensorStream.accelerometer.table:
            (stream, minMotion) = (.accelerometer, 0.02)
        case SensorStream.gyroscope.name, SensorStream.gyroscope.table: (stream, minMotion) = (.gyroscope, 0.05)
        default: throw CommandFailure("--stream \(name): use accelerometer or gyroscope")
        }
    }

    var unit: String { stream.columns[0].unit }
}

/// The result of `lockstep align`, as text and as JSON.
struct AlignReport {
    let devices: (DeviceAddress, DeviceAddress)
    let stream: AlignedStream
    let alignment: MotionAlignment
    let clocks: CollectorTime

    private var time: Timestamp { Timestamp(microseconds: Int64(alignment.time.rounded())) }

    /// The offset minus that of the collector's clock estimates, in µs; nil if they are not known.
    private var disagreement: Double? {
        guard clocks.unknownDevices.isEmpty else { return nil }
        let other = time + -Int64(alignment.offset.rounded())
        return Double(clocks.time(time, of: devices.0) - clocks.time(other, of: devices.1))
    }

    var text: String {
        func milliseconds(_ value: Double) -> String { "\(fixed(value / 1000, 3)) ms" }
        let side = alignment.offset < 0 ? "behind" : "ahead of"
        var lines = [
            "\(devices.0) is \(milliseconds(abs(alignment.offset))) \(side) \(devices.1) at \(time), within "
                + milliseconds(alignment.bound)
        ]
        if let drift = alignment.drift, let bound = alignment.driftBound {
            lines.append("the offset changes by \(fixed(drift, 2)) ppm, within \(fixed(bound, 2)) ppm")
        }
        if let disagreement {
            lines.append("the clock estimates of the store differ by \(milliseconds(abs(disagreement)))")
        }
        lines.append(
            "correlation \(fixed(alignment.correlation, 3)), \(fixed(alignment.significance, 1)) times that of "
                + "independent motions; second peak \(fixed(alignment.secondPeak, 2)) of the first; "
                + counted(alignment.segments, "segment"))
        return lines.joined(separator: "\n") + "\n"
    }

    var json: String {
        var object = JSONObjectWriter()
        object.member("first", devices.0.description)
        object.member("second", devices.1.description)
        object.member("stream", stream.stream.name)
        object.member("t", time.microseconds)
        object.member("offset_us", resolved(alignment.offset, decimals: 1))
        object.member("bound_us", resolved(alignment.bound, decimals: 1))
        if let drift = alignment.drift, let bound = alignment.driftBound {
            object.member("drift_ppm", resolved(drift, decimals: 3))
            object.member("drift_bound_ppm", resolved(bound, decimals: 3))
        }
        if let disagreement { object.member("clock_disagreement_us", disagreement) }
        object.member("correlation", resolved(alignment.correlation, decimals: 4))
        object.member("significance", resolved(alignment.significance, decimals: 1))
        object.member("second_peak", resolved(alignment.secondPeak, decimals: 3))
        object.member("segments", Int64(alignment.segments))
        return String(decoding: object.finish(), as: UTF8.self) + "\n"
    }
}

/// The stored samples of two devices, read in blocks, so that memory use does not grow with the time range.
struct StoredMagnitudes {
    let reader: StoreReader
    let devices: (DeviceAddress, DeviceAddress)
    let stream: AlignedStream
    let from: Timestamp?
    let to: Timestamp?
    /// The offsets to search, in µs.
    let offsets: ClosedRange<Int64>

    /// - Throws: ``CommandFailure`` that says why there is no offset, and what to do.
    func alignment() throws -> MotionAlignment {
        try checkSamples()
        var aligner = MotionAligner(minMotion: stream.minMotion)
        var next = try reader.firstTime(of: stream.stream, devices.0, from: from, to: to)
        while let begin = next {
            let limit = min(begin + MotionAligner.blockDuration, to ?? Timestamp(microseconds: .max))
            let first = try series(of: devices.0, from: begin, to: limit)
            // Times may be at the ends of their range.
            if let start = begin.subtracting(offsets.upperBound), let end = limit.subtracting(offsets.lowerBound) {
                aligner.add(first, try series(of: devices.1, from: start, to: end), offsets: offsets)
            }
            next = try reader.firstTime(of: stream.stream, devices.0, from: limit, to: to)
        }
        do { return try aligner.result() } catch { throw CommandFailure(text(of: error)) }
    }

    private func checkSamples() throws {
        let need = "the devices are compared by it"
        try reader.checkSamples(of: stream.stream, devices.0, from: from, to: to, need: need)
        try reader.checkSamples(of: stream.stream, devices.1, from: nil, to: nil, need: need)
    }

    private func series(of device: DeviceAddress, from: Timestamp, to: Timestamp) throws -> MagnitudeSeries {
        var series = MagnitudeSeries()
        try reader.run(SampleQuery(device: device, stream: stream.stream, from: from, to: to), cancellation: nil) {
            time, values in
            series.append(time: time.microseconds, x: values[0], y: values[1], z: values[2])
        }
        return series
    }

    private func text(of error: MotionAlignmentError) -> String {
        func device(_ isFirst: Bool) -> DeviceAddress { isFirst ? devices.0 : devices.1 }
        func milliseconds(_ offset: Double) -> String { "\(fixed(offset / 1000, 1)) ms" }
        switch error {
        case .tooShort(let seconds):
            return "only \(fixed(seconds, 1)) s of samples of both devices may belong together: record at least 5 s of "
                + "common motion, or raise --max-offset"
        case .tooSlow(let isFirst, let rate):
            return "\(device(isFirst)) has \(fixed(rate, 1)) samples/s of '\(stream.stream.name)': use at least 10"
        case .noMotion(let isFirst, let deviation):
            return
                "\(device(isFirst)) was hardly moved: its magnitude varies by \(fixed(deviation, 4)) \(stream.unit); "
                + "shake both devices together"
        case .noMatch(let correlation, let significance):
            return "the devices were not moved together: the best correlation of their motions is "
                + "\(fixed(correlation, 2)), which is \(fixed(significance, 1)) times that of independent motions "
                + "(at least 0.3 and 5 times are required); choose the time of the common motion with --from and --to"
        case .outOfRange(let offset):
            return "the correlation is largest at the limit of the search, \(milliseconds(offset)): raise --max-offset"
        case .ambiguous(let offset, let other, let ratio):
            return
                "the offset is ambiguous: the correlation at \(milliseconds(other)) is \(fixed(ratio, 2)) of that at "
                + "\(milliseconds(offset)), as by regular steps; lower --max-offset, or shake both devices irregularly"
        case .inconsistent(let segments, let consistent):
            return "only \(consistent) of \(counted(segments, "segment")) agree on one offset: record a longer common "
                + "motion, or choose its time with --from and --to"
        }
    }
}

extension Timestamp {
    /// The time so much earlier, or nil if it is out of range.
    fileprivate func subtracting(_ duration: Int64) -> Timestamp? {
        let (time, overflows) = microseconds.subtractingReportingOverflow(duration)
        return overflows ? nil : Timestamp(microseconds: time)
    }
}
