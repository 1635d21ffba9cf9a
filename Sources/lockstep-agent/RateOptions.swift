import ArgumentParser
import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepSensors

/// The rates at which streams are published.
struct RateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Rate of a stream in samples per second, 'off', or 'source' for the rate of its source; may be repeated \
            (default: source; 50 for motion/device, 10 for heading).
            """,
            valueName: "stream=hz"))
    var rate: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            Rate in the background phase; may be repeated (default: motion, orientation and heading off; \
            steps and battery as in foreground; 0.1 for pressure and altitude; location after 500 m).
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
                throw CommandFailure("--\(name) is given twice for \(pair.stream)")
            }
        }
    }
}

/// Parses a rate such as `motion/accelerometer=50`, `steps=off`, `gyroscope=source`.
private func request(
    _ text: String, streams: StreamCatalog
) throws -> (stream: SensorStream, request: SensorRequest) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw CommandFailure("'\(text)' is not a rate: use STREAM=HZ") }
    guard let stream = streams.stream(named: String(parts[0])) else {
        throw CommandFailure(streams.unknownStreamMessage(for: String(parts[0])))
    }
    switch parts[1] {
    case "off": return (stream, SensorRequest(rate: 0))
    case "source": return (stream, .everything)
    default:
        guard let rate = Double(String(parts[1])), RateLease.validRates.contains(rate) else {
            let range = "\(RateLease.validRates.lowerBound) to \(RateLease.validRates.upperBound)"
            throw CommandFailure("'\(parts[1])' is not a rate: use \(range) samples per second, off or source")
        }
        return (stream, SensorRequest(rate: rate))
    }
}
