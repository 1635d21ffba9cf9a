public import LockstepModel

/// What `--source` options have to say beside the source itself.
public struct SourceOptions: Sendable, Hashable {
    /// How fast a recording is played.
    public var speed: ReplaySpeed
    /// What the timestamps are of sources with a time of their own: recordings and gpsd.
    public var stamping: Stamping
    /// Samples a second of each motion stream of the simulator.
    public var simulatedRate: Double
    /// Where the sensors of this machine are described.
    public var sysfsRoot: String
    /// Where their character devices are.
    public var devRoot: String
    /// How long, in µs, samples gather in a source before they are handed over: each time wakes who takes them. Where
    /// they come more seldom than that, none waits for the next. Fixes of gpsd never wait.
    public var gathering: Int64
    /// The streams that a recording can contain.
    public var streams = StreamCatalog.builtIn

    /// Short enough for someone who watches: 50 ms.
    public static let usualGathering: Int64 = 50_000

    public init(
        speed: ReplaySpeed = .realTime, stamping: Stamping = .now, simulatedRate: Double = 100,
        sysfsRoot: String = "/sys", devRoot: String = "/dev", gathering: Int64 = usualGathering
    ) {
        self.speed = speed
        self.stamping = stamping
        self.simulatedRate = simulatedRate
        self.sysfsRoot = sysfsRoot
        self.devRoot = devRoot
        self.gathering = gathering
    }
}

/// A text that names no source.
public struct SourceSpecificationError: Error, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The sources there are, by what people call them.
public enum SensorSources {
    /// The forms that ``make(_:options:)`` knows, for help texts.
    public static let forms = "iio, simulate[:seed], replay:FILE.csv or gpsd[://host:port]"

    /// The source of a text such as `simulate:7`, `replay:walk.csv` or `gpsd://localhost:2947`.
    ///
    /// Its name is the text in full, with what the text left out; the same source has the same name.
    /// - Throws: ``SourceSpecificationError`` if the text is none of ``forms``; ``ReplayError`` if the recording can't be
    ///   played.
    public static func make(_ text: String, options: SourceOptions = SourceOptions()) throws -> any SensorSource {
        let kind = text.prefix { $0 != ":" }
        let rest = text.dropFirst(kind.count)
        switch kind {
        case "iio":
            guard rest.isEmpty else {
                throw SourceSpecificationError("'\(text)' says more than 'iio', which are all sensors of this machine")
            }
            return IIOSource(sysfsRoot: options.sysfsRoot, devRoot: options.devRoot, gathering: options.gathering)
        case "simulate": return try simulator(rest, in: text, options: options)
        case "replay":
            guard rest.count > 1 else { throw SourceSpecificationError("'\(text)' names no file: use replay:FILE.csv") }
            return try ReplaySource(
                file: String(rest.dropFirst()), speed: options.speed, stamping: options.stamping,
                gathering: options.gathering, streams: options.streams)
        case "gpsd": return GpsdSource(address: try address(rest, in: text), stamping: options.stamping)
        default: throw SourceSpecificationError("unknown source '\(text)': use \(forms)")
        }
    }

    private static func simulator(_ rest: Substring, in text: String, options: SourceOptions) throws -> SimulatedSource
    {
        let rate = options.simulatedRate
        guard rate > 0, rate <= 10_000 else {
            throw SourceSpecificationError("can't simulate \(rate) samples a second: use a rate above 0 up to 10000")
        }
        if rest.isEmpty { return SimulatedSource(rate: rate, gathering: options.gathering) }
        guard let seed = UInt64(rest.dropFirst()) else {
            throw SourceSpecificationError(
                "the seed in '\(text)' is not a whole number from 0 to \(UInt64.max): use simulate[:seed]")
        }
        return SimulatedSource(seed: seed, rate: rate, gathering: options.gathering)
    }

    private static func address(_ rest: Substring, in text: String) throws -> GpsdAddress {
        if rest.isEmpty || rest == "://" { return GpsdAddress() }
        guard rest.hasPrefix("://"), let address = GpsdAddress(String(rest.dropFirst(3))) else {
            throw SourceSpecificationError("'\(text)' is not an address of gpsd: use gpsd[://host:port]")
        }
        return address
    }
}
