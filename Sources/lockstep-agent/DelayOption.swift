import LockstepCommandLine
import LockstepModel
import LockstepSensors

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
