import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepSensors

/// Where samples come from.
struct SourceSelection: ParsableArguments {
    @Option(help: "Where samples come from; may be repeated.")
    var source: [String] = []

    @Option(help: "How fast recordings are played: a factor, or max (default: 1).")
    var speed: String?

    @Option(
        help: """
            Timestamps of recordings and fixes: now (the agent's time line), or own (their own times) (default: now).
            """)
    var stamp: String?

    @Option(help: "Where iio looks for sensors (default: /sys).")
    var sysfsRoot: String?

    @Option(help: "Where iio looks for their character devices (default: /dev).")
    var devRoot: String?

    static let names = ["source", "speed", "stamp", "sysfs-root", "dev-root", "streams"]

    /// The sources that were named, each once.
    /// - Parameters:
    ///   - standard: the one to take where none was named; nil where one must be.
    ///   - gathering: how long samples gather in them, in µs.
    /// - Throws: ``CommandFailure``
    func sources(
        _ settings: Settings, standard: String? = nil, gathering: Int64 = SourceOptions.usualGathering
    ) throws -> [any SensorSource] {
        var options = SourceOptions(gathering: gathering)
        options.streams = settings.streams
        if let speed = try settings.value("speed", speed, parse: replaySpeed) { options.speed = speed }
        if let stamping = try settings.value("stamp", stamp, parse: { try choice($0, of: Stamping.self) }) {
            options.stamping = stamping
        }
        if let root = try settings.value("sysfs-root", sysfsRoot, parse: folder) { options.sysfsRoot = root }
        if let root = try settings.value("dev-root", devRoot, parse: folder) { options.devRoot = root }
        var sources = try settings.values("source", source) { try SensorSources.make($0, options: options) }
        if sources.isEmpty, let standard { sources = [try SensorSources.make(standard, options: options)] }
        guard !sources.isEmpty else {
            throw CommandFailure("no source: say where samples come from, with --source \(SensorSources.forms)")
        }
        let names = sources.map(\.name)
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw CommandFailure("the source \(twice) is named twice")
        }
        return sources
    }
}

/// A folder's path without a slash at its end.
private func folder(_ text: String) throws -> String {
    guard !text.isEmpty else { throw CommandFailure("an empty text names no folder") }
    return text.count > 1 && text.hasSuffix("/") ? String(text.dropLast()) : text
}
