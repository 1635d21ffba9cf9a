import LockstepCommandLine
import LockstepModel
import LockstepSensors

/// The settings that select the sources of samples.
struct SourceSettings: SettingGroup {
    let source = Setting.list("source", "Source of samples, such as iio or gpsd; may be repeated.")
    let speed = Setting("speed", "Speed of replayed recordings: a factor, or max (default: 1).", replaySpeed)
    let stamp = Setting(
        "stamp",
        """
        Timestamps of recordings and GPS fixes: now for the current time, or own for the time in the recording or from \
        the GPS receiver (default: now).
        """
    ) { try choice($0, of: Stamping.self) }
    let strict = Setting.flag(
        "strict",
        "Refuse a recording with values that are not finite, or times that go backward, instead of leaving them out.")
    let map = Setting.list(
        "map",
        """
        Column of a recording that its header does not name as Lockstep does, as FIELD=STREAM.COLUMN[:UNIT], such as \
        ax=accelerometer.x:m/s2, or the time, such as seconds=t_s; may be repeated.
        """)
    let timeUnit = Setting(
        "time-unit", "Unit of the times of a recording whose header does not say it: s, ms, us or ns.",
        parseTimeUnit)
    let sysfsRoot = Setting("sysfs-root", "Root of sysfs for iio (default: /sys).", folder)
    let devRoot = Setting("dev-root", "Root of character devices for iio (default: /dev).", folder)
    let iioDevice = Setting.list(
        "iio-device",
        """
        IIO device to prefer if several measure the same, by its id, name, label or location, such as iio:device1 or \
        accel-display; may be repeated (default: the one in the display).
        """)
    let mountMatrix = Setting.list(
        "mount-matrix",
        """
        Mount matrix of the sensors of an IIO device instead of the system's, as [DEVICE=]ROW;ROW;ROW, such as \
        'accel-display=0 1 0; 1 0 0; 0 0 1'; may be repeated.
        """
    ) { try IIOMountMatrix($0) }
    let delay = Setting.list(
        "delay",
        """
        Delay by which the timestamps of a source are too late, as SOURCE=DURATION or SOURCE:STREAM=DURATION, such as \
        gpsd=150ms or iio:motion/gyroscope=4ms; may be repeated. It does not apply to times that a source itself states.
        """)
    let streams = Setting.streams
}

extension Options<SourceSettings> {
    /// - Parameters:
    ///   - standard: the default source, or nil if a source must be given.
    ///   - linger: how long a source collects samples before it hands them over, in µs.
    /// - Throws: ``CommandFailure`` if a source is invalid, missing or given twice.
    func sources(
        _ settings: Settings, standard: String? = nil, linger: Int64 = SourceOptions.defaultLinger
    ) throws -> [any SensorSource] {
        var options = SourceOptions(linger: linger)
        options.streams = settings.streams
        try settings.assign(self.speed, to: &options.speed)
        try settings.assign(self.stamp, to: &options.stamping)
        try settings.assign(self.sysfsRoot, to: &options.sysfsRoot)
        try settings.assign(self.devRoot, to: &options.devRoot)
        options.isStrict = try settings.isOn(self.strict)
        options.recording.mappings = try settings.values(self.map) {
            try RecordingFormat.Mapping($0, streams: settings.streams)
        }
        options.recording.timeUnit = try settings.value(self.timeUnit)
        options.iio = IIOChoices(
            devices: try settings.values(self.iioDevice), mountMatrices: try settings.values(self.mountMatrix))
        let specifications = try settings.values(self.source)
        // Nothing, for an agent that only delivers what its outbox holds.
        if specifications.contains("none") {
            guard specifications.count == 1 else {
                throw CommandFailure("--source none cannot be combined with other sources: leave it out")
            }
            return []
        }
        var sources = try settings.values(self.source) { try SensorSources.make($0, options: options) }
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
            by: settings.values(self.delay) { try DelayOption(parsing: $0, streams: settings.streams) })
    }
}

/// Parses the path of a folder, and removes a slash at its end.
private func folder(_ text: String) throws -> String {
    guard !text.isEmpty else { throw CommandFailure("a path must not be empty") }
    return text.count > 1 && text.hasSuffix("/") ? String(text.dropLast()) : text
}

/// A value of the option `--delay`: `SOURCE=DURATION` or `SOURCE:STREAM=DURATION`.
struct DelayOption {
    /// The kind of source, such as `iio`.
    let kind: String
    /// The stream, or nil for all streams of the source.
    let stream: SensorStream?
    /// The delay in µs.
    let delay: Int64

    /// Parses a value.
    /// - Throws: ``CommandFailure`` for any other text.
    init(parsing text: String, streams: StreamCatalog) throws {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else {
            throw CommandFailure("'\(text)' is not a delay: use SOURCE=DURATION, such as gpsd=150ms")
        }
        let names = parts[0].split(separator: ":", maxSplits: 1).map(String.init)
        kind = names[0]
        stream = try names.dropFirst().first.map { name in
            guard let stream = streams.stream(named: name) else {
                throw CommandFailure("'\(text)': unknown stream '\(name)'")
            }
            return stream
        }
        delay = try parseDuration(String(parts[1]))
        guard (0...SourceDelays.maximum).contains(delay) else {
            throw CommandFailure("'\(text)': a delay must be from 0s to 10s")
        }
    }
}

extension [any SensorSource] {
    /// Returns the sources with their delays.
    /// - Throws: ``CommandFailure`` if an option names no source, or a stream that its source does not have.
    func delayed(by options: [DelayOption]) throws -> [any SensorSource] {
        var delays: [String: SourceDelays] = [:]
        for option in options {
            let sources = filter { $0.kind == option.kind }
            guard !sources.isEmpty else {
                throw CommandFailure(
                    "--delay \(option.kind): no such source; sources: \(map(\.kind).joined(separator: ", "))")
            }
            guard let stream = option.stream else {
                delays[option.kind, default: SourceDelays()].common = option.delay
                continue
            }
            guard sources.contains(where: { $0.streams.contains(stream) }) else {
                throw CommandFailure("--delay \(option.kind):\(stream): this source has no such stream")
            }
            delays[option.kind, default: SourceDelays()].streams[stream] = option.delay
        }
        return map { source in
            guard let delays = delays[source.kind], !delays.isEmpty else { return source }
            return DelayedSource(source, delays: delays)
        }
    }
}

extension SensorSource {
    /// The part of the name before the first colon, such as `gpsd`.
    fileprivate var kind: String { String(name.prefix { $0 != ":" }) }
}
