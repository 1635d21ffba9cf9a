import ArgumentParser
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepMotion
import LockstepStore

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
