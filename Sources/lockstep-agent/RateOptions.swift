import ArgumentParser
import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepSensors

/// How much of each stream is published.
struct RateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Samples a second of a stream in the foreground, 'off', or 'source' for all that the source gives; may be \
            repeated (default: source, of motion/device 50).
            """,
            valueName: "stream=hz"))
    var rate: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            The same in background (default: motion and orientation off, steps as in the foreground, location after \
            500 m).
            """,
            valueName: "stream=hz"))
    var backgroundRate: [String] = []

    static let names = ["rate", "background-rate"]

    func rates(_ settings: Settings) throws -> PublishingRates {
        PublishingRates(
            foreground: try requests("rate", rate, settings),
            background: try requests("background-rate", backgroundRate, settings))
    }

    private func requests(
        _ name: String, _ given: [String], _ settings: Settings
    ) throws -> [SensorStream: SensorRequest] {
        let pairs = try settings.values(name, given) { try request($0, streams: settings.streams) }
        return try pairs.reduce(into: [:]) { requests, pair in
            guard requests.updateValue(pair.request, forKey: pair.stream) == nil else {
                throw CommandFailure("--\(name) names \(pair.stream) twice")
            }
        }
    }
}

/// Reads `motion/accelerometer=50`, `steps=off`, `gyroscope=source`.
private func request(
    _ text: String, streams: StreamCatalog
) throws -> (stream: SensorStream, request: SensorRequest) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw CommandFailure("'\(text)' is no rate: write STREAM=HZ") }
    guard let stream = streams.stream(named: String(parts[0])) else {
        throw CommandFailure(streams.unknownStream(String(parts[0])))
    }
    switch parts[1] {
    case "off": return (stream, SensorRequest(rate: 0))
    case "source": return (stream, .everything)
    default:
        guard let rate = Double(String(parts[1])), RateLease.rates.contains(rate) else {
            let range = "\(RateLease.rates.lowerBound) to \(RateLease.rates.upperBound)"
            throw CommandFailure("'\(parts[1])' is no rate: use \(range) samples a second, off, or source")
        }
        return (stream, SensorRequest(rate: rate))
    }
}
