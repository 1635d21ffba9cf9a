public import LockstepModel

/// The error for an invalid source specification.
public struct SourceSpecificationError: Error, Hashable, CustomStringConvertible {
    /// The specification, its problem and the valid forms.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// Creates sources from the specifications that `--source` accepts.
public enum SensorSources {
    /// The forms that ``make(_:options:)`` accepts, for help texts.
    public static let forms = "iio, battery, simulate[:seed][:motion], replay:FILE or gpsd[://host:port[/device]]"

    /// Creates the source of a specification such as `simulate:7`, `replay:walk.csv` or `gpsd://localhost:2947`.
    ///
    /// The source's name is the full specification including defaults, so that equal sources have equal names.
    /// - Throws: ``SourceSpecificationError`` if the text has none of ``forms``; ``ReplayError`` if the recording
    ///   cannot be played.
    public static func make(_ text: String, options: SourceOptions = SourceOptions()) throws -> any SensorSource {
        let kind = text.prefix { $0 != ":" }
        let rest = text.dropFirst(kind.count)
        switch kind {
        case "iio":
            guard rest.isEmpty else {
                throw SourceSpecificationError("'\(text)': use 'iio' alone, it covers all sensors of this machine")
            }
            return IIOSource(
                sysfsRoot: options.sysfsRoot, devRoot: options.devRoot, linger: options.linger, choices: options.iio)
        case "battery":
            guard rest.isEmpty else {
                throw SourceSpecificationError(
                    "'\(text)': use 'battery' alone, it covers all batteries of this machine")
            }
            return BatterySource(sysfsRoot: options.sysfsRoot)
        case "simulate": return try simulator(rest, in: text, options: options)
        case "replay":
            guard rest.count > 1 else { throw SourceSpecificationError("'\(text)' names no file: use replay:FILE") }
            return try ReplaySource(
                file: String(rest.dropFirst()), speed: options.speed, stamping: options.stamping,
                linger: options.linger, streams: options.streams, isStrict: options.isStrict,
                format: options.recording)
        case "gpsd": return GpsdSource(address: try address(rest, in: text), stamping: options.stamping)
        default: throw SourceSpecificationError("unknown source '\(text)': use \(forms)")
        }
    }

    private static func simulator(_ rest: Substring, in text: String, options: SourceOptions) throws -> SimulatedSource
    {
        let rate = options.simulatedRate
        guard rate > 0, rate <= 10_000 else {
            throw SourceSpecificationError("cannot simulate \(rate) samples/s: use a rate above 0, at most 10000")
        }
        var parts = rest.split(separator: ":", omittingEmptySubsequences: false).dropFirst()
        let motion = parts.last.flatMap { SimulatedMotion(rawValue: String($0)) }
        if motion != nil { parts.removeLast() }
        let seed = parts.isEmpty ? 1 : parts.count == 1 ? UInt64(parts[parts.startIndex]) : nil
        guard let seed else {
            throw SourceSpecificationError(
                "'\(text)' has no seed from 0 to \(UInt64.max) or no known motion: use simulate[:seed][:motion] with the "
                    + "motion \(SimulatedMotion.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return SimulatedSource(seed: seed, rate: rate, linger: options.linger, motion: motion ?? .walk)
    }

    private static func address(_ rest: Substring, in text: String) throws -> GpsdAddress {
        if rest.isEmpty || rest == "://" { return GpsdAddress() }
        guard rest.hasPrefix("://"), let address = GpsdAddress(String(rest.dropFirst(3))) else {
            throw SourceSpecificationError("'\(text)' is not an address of gpsd: use gpsd[://host:port[/device]]")
        }
        return address
    }
}

/// Options that apply to the sources named by `--source`.
public struct SourceOptions: Sendable, Hashable {
    /// The playback speed of recordings.
    public var speed: ReplaySpeed
    /// The clock for the timestamps of sources that have their own clock: recordings and gpsd.
    public var stamping: Stamping
    /// The native rate of the simulator's motion streams, in samples/s.
    public var simulatedRate: Double
    /// The root of sysfs: sensors are in `bus/iio/devices` and batteries in `class/power_supply` below it.
    public var sysfsRoot: String
    /// The folder of the character devices of the sensors.
    public var devRoot: String
    /// Whether a recording with invalid values or times that go backward is refused instead of read without them.
    public var isStrict = false
    /// What the user says about the columns of a recording.
    public var recording = RecordingFormat()
    /// What the user decides about the sensors of the source `iio`.
    public var iio = IIOChoices()
    /// How long a source collects samples before it delivers them, in µs.
    ///
    /// A longer linger causes fewer wake-ups. Samples that arrive less often than this, and fixes of gpsd, are
    /// delivered at once.
    public var linger: Int64
    /// The streams that a recording can contain.
    public var streams = StreamCatalog.builtIn

    /// The default linger, 50,000 µs: short enough for a live display.
    public static let defaultLinger: Int64 = 50_000

    /// Creates the options.
    public init(
        speed: ReplaySpeed = .realTime, stamping: Stamping = .now, simulatedRate: Double = 100,
        sysfsRoot: String = "/sys", devRoot: String = "/dev", linger: Int64 = defaultLinger
    ) {
        self.speed = speed
        self.stamping = stamping
        self.simulatedRate = simulatedRate
        self.sysfsRoot = sysfsRoot
        self.devRoot = devRoot
        self.linger = linger
    }
}
