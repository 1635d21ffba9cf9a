import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepSensors

/// The options that select the sources of samples.
struct SourceSelection: ParsableArguments {
    @Option(help: "Source of samples, such as iio or gpsd; may be repeated.")
    var source: [String] = []

    @Option(help: "Speed of replayed recordings: a factor, or max (default: 1).")
    var speed: String?

    @Option(
        help: """
            Timestamps of recordings and GPS fixes: now for the current time, or own for the time in the recording \
            or from the GPS receiver (default: now).
            """)
    var stamp: String?

    @Flag(
        help: """
            Refuse a recording with values that are not finite, or times that go backward, instead of leaving them out.
            """)
    var strict = false

    @Option(help: "Root of sysfs for iio (default: /sys).")
    var sysfsRoot: String?

    @Option(help: "Root of character devices for iio (default: /dev).")
    var devRoot: String?

    @Option(
        help: """
            IIO device to prefer if several measure the same, by its id, name, label or location, such as iio:device1 or \
            accel-display; may be repeated (default: the one in the display).
            """)
    var iioDevice: [String] = []

    @Option(
        help: """
            Mount matrix of the sensors of an IIO device instead of the system's, as [DEVICE=]ROW;ROW;ROW, such as \
            'accel-display=0 1 0; 1 0 0; 0 0 1'; may be repeated.
            """)
    var mountMatrix: [String] = []

    @Option(
        help: """
            Delay by which the timestamps of a source are too late, as SOURCE=DURATION or SOURCE:STREAM=DURATION, such \
            as gpsd=150ms or iio:motion/gyroscope=4ms; may be repeated. It does not apply to times that a source \
            itself states.
            """)
    var delay: [String] = []

    /// The source of an agent that only delivers what its outbox holds.
    static let none = "none"

    static let names = [
        "delay", "iio-device", "mount-matrix", "source", "speed", "stamp", "strict", "sysfs-root", "dev-root",
        "streams",
    ]

    /// Returns the selected sources.
    /// - Parameters:
    ///   - standard: the default source, or nil if a source must be given.
    ///   - linger: how long a source collects samples before it hands them over, in µs.
    /// - Throws: ``CommandFailure`` if a source is invalid, missing or given twice.
    func sources(
        _ settings: Settings, standard: String? = nil, linger: Int64 = SourceOptions.defaultLinger
    ) throws -> [any SensorSource] {
        var options = SourceOptions(linger: linger)
        options.streams = settings.streams
        if let speed = try settings.value("speed", speed, parse: replaySpeed) { options.speed = speed }
        if let stamping = try settings.value("stamp", stamp, parse: { try choice($0, of: Stamping.self) }) {
            options.stamping = stamping
        }
        if let root = try settings.value("sysfs-root", sysfsRoot, parse: folder) { options.sysfsRoot = root }
        if let root = try settings.value("dev-root", devRoot, parse: folder) { options.devRoot = root }
        options.isStrict =
            try settings.value("strict", strict ? "true" : nil, parse: { try boolean($0) }) ?? false
        options.iio = IIOChoices(
            devices: try settings.values("iio-device", iioDevice) { $0 },
            mountMatrices: try settings.values("mount-matrix", mountMatrix) { try IIOMountMatrix($0) })
        let specifications = try settings.values("source", source) { $0 }
        if specifications.contains(Self.none) {
            guard specifications.count == 1 else {
                throw CommandFailure("--source none cannot be combined with other sources: leave it out")
            }
            return []
        }
        var sources = try settings.values("source", source) { try SensorSources.make($0, options: options) }
        if sources.isEmpty, let standard { sources = [try SensorSources.make(standard, options: options)] }
        guard !sources.isEmpty else {
            throw CommandFailure(
                "no source of samples: set one with --source \(SensorSources.forms); or use "
                    + "--source none to deliver only what the outbox holds")
        }
        let names = sources.map(\.name)
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw CommandFailure("the source '\(twice)' is given twice")
        }
        return try sources.delayed(
            by: settings.values("delay", delay) { try DelayOption(parsing: $0, streams: settings.streams) })
    }
}

/// Parses the path of a folder, and removes a slash at its end.
private func folder(_ text: String) throws -> String {
    guard !text.isEmpty else { throw CommandFailure("a path must not be empty") }
    return text.count > 1 && text.hasSuffix("/") ? String(text.dropLast()) : text
}
