/// The error for an invalid source specification.
public struct SourceSpecificationError: Error, Hashable, CustomStringConvertible {
    /// The specification, its problem and the valid forms.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// Creates sources from the specifications that `--source` accepts.
public enum SensorSources {
    /// The forms that ``make(_:options:)`` accepts, for help texts.
    public static let forms = "iio, battery, simulate[:seed], replay:FILE.csv or gpsd[://host:port[/device]]"

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
            guard rest.count > 1 else { throw SourceSpecificationError("'\(text)' names no file: use replay:FILE.csv") }
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
        if rest.isEmpty { return SimulatedSource(rate: rate, linger: options.linger) }
        guard let seed = UInt64(rest.dropFirst()) else {
            throw SourceSpecificationError(
                "the seed in '\(text)' is not a whole number from 0 to \(UInt64.max): use simulate[:seed]")
        }
        return SimulatedSource(seed: seed, rate: rate, linger: options.linger)
    }

    private static func address(_ rest: Substring, in text: String) throws -> GpsdAddress {
        if rest.isEmpty || rest == "://" { return GpsdAddress() }
        guard rest.hasPrefix("://"), let address = GpsdAddress(String(rest.dropFirst(3))) else {
            throw SourceSpecificationError("'\(text)' is not an address of gpsd: use gpsd[://host:port[/device]]")
        }
        return address
    }
}
