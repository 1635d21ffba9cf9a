import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepSensors

/// The rates at which streams are published.
struct RateSettings: SettingGroup {
    let rate = Setting.list(
        "rate", placeholder: "stream=hz",
        """
        Rate of a stream: samples per second, off, or source for the rate of the sensor itself; may be repeated (default: \
        source, but 50 for motion/device and 10 for heading).
        """)
    let backgroundRate = Setting.list(
        "background-rate", placeholder: "stream=hz",
        """
        Rate of a stream in the background phase; may be repeated (default: off for motion, orientation and \
        heading, 0.1 for pressure and altitude, every 500 m for location, and the foreground rate for all others).
        """)
}

extension Options<RateSettings> {
    func rates(_ settings: Settings) throws -> PublishingRates {
        PublishingRates(
            foreground: try requests(self.rate, settings), background: try requests(self.backgroundRate, settings))
    }

    private func requests(_ setting: Setting<String>, _ settings: Settings) throws -> [SensorStream: SensorRequest] {
        let pairs = try settings.values(setting) { try request($0, streams: settings.streams) }
        return try pairs.reduce(into: [:]) { requests, pair in
            guard requests.updateValue(pair.request, forKey: pair.stream) == nil else {
                throw CommandFailure("--\(setting.name) is given twice for \(pair.stream)")
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
