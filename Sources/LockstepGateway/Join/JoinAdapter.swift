public import LockstepModel
import LockstepWire

/// Translates the batches of the page that phones open in a browser (`/join`).
public struct JoinAdapter: GatewayAdapter {
    /// The maximum number of samples of one batch.
    public static let maxSamples = 10_000
    /// The age of the newest sample at the time of sending above which a batch is late, in µs.
    static let lateAfter: Int64 = 10_000_000

    /// The name of the format.
    public let name = "join"
    /// The HTTP path.
    public let path: String? = "/join/api/v1/batches"
    /// Pages do not use MQTT.
    public let topicFilters: [String] = []
    /// A visible page reports its state every 10 s. One in the background may be stopped by the browser at any time.
    public let silence = SilenceLimits(foreground: 60_000_000, background: 3_600_000_000)

    private let catalog: StreamCatalog

    /// Creates an adapter.
    public init(catalog: StreamCatalog = .builtIn) { self.catalog = catalog }

    /// Translates a batch.
    public func translate(_ message: ForeignMessage) throws(Refusal) -> Translation {
        let content = try ForeignJSON.parse(message.payload)
        guard let group = content["group"]?.string, let device = content["device"]?.string,
            let groupID = GroupID(rawValue: group), let deviceID = DeviceID(rawValue: device)
        else { throw Refusal(.malformed, "'group' or 'device' is missing or no valid id") }
        guard let epoch = content["epoch"]?.string, (1...64).contains(epoch.utf8.count),
            let number = content["seq"]?.integer, (1..<1 << 53).contains(number)
        else { throw Refusal(.malformed, "'epoch' is no text of 1 to 64 bytes, or 'seq' is no whole number") }
        var report = ForeignReport(sender: ForeignName(name, [message.request?.user, device].compactMap { $0 }))
        report.claimed = DeviceAddress(group: groupID, device: deviceID)
        report.sequence = MessageNumber(session: epoch, number: number)
        guard let sent = content["sent"]?.integer.flatMap({ TimeUnit.milliseconds.microseconds($0) }), sent > 0
        else {
            throw Refusal(.malformed, "'sent' is no time in ms")
        }
        report.writtenAt = Timestamp(microseconds: sent)
        for part in try list(content["streams"], "'streams'") {
            try add(part, to: &report)
            guard report.readings.count <= Self.maxSamples else {
                throw Refusal(.malformed, "the batch has more than \(Self.maxSamples) samples: send smaller ones")
            }
        }
        // By the clock of the phone only, so that a difference of the clocks does not matter.
        let newest = report.readings.map(\.time).max()
        let isLate = newest.map { sent - $0 > Self.lateAfter } ?? false
        report.isLate = isLate
        var presence = try presence(content)
        presence.at = Timestamp(microseconds: max(sent, newest ?? sent))
        if !isLate { report.presence = presence }
        return Translation([report])
    }

    /// Answers with the number of the batch.
    public func answer(to outcome: RequestOutcome) -> HTTPAnswer {
        switch outcome {
        case .accepted(let receipt):
            var object = JSONObjectWriter()
            object.member("accepted", true)
            object.member("seq", receipt.number ?? 0)
            return HTTPAnswer(status: 200, contentType: "application/json", body: object.finish())
        case .refused(let refusal): return HTTPAnswer(status: refusal.kind.status)
        case .unavailable: return HTTPAnswer(status: 503)
        }
    }

    private func presence(_ content: JSONValue) throws(Refusal) -> ForeignPresence {
        let phases: [String: Phase] = [
            "active": .foreground, "resumed": .foreground, "inactive": .inactive, "background": .background,
            "terminated": .terminated,
        ]
        guard let state = content["state"]?.string, let phase = phases[state] else {
            throw Refusal(.malformed, "'state' is none of \(phases.keys.sorted().joined(separator: ", "))")
        }
        let reason = content["reason"]?.string ?? ""
        guard reason.utf8.count <= 200 else { throw Refusal(.malformed, "'reason' is too long") }
        return ForeignPresence(phase, reason: reason.isEmpty ? state : reason)
    }

    private func list(_ value: JSONValue?, _ name: String) throws(Refusal) -> [JSONValue] {
        guard let value, value != .null else { return [] }
        guard let items = value.array else { throw Refusal(.malformed, "\(name) is no list") }
        return items
    }

    /// Adds the samples of one stream: rows of the time in µs and a value for each column, null for an unknown one.
    private func add(_ part: JSONValue, to report: inout ForeignReport) throws(Refusal) {
        guard let name = part["stream"]?.string else { throw Refusal(.malformed, "a stream has no 'stream'") }
        guard let stream = catalog.stream(ofChannel: name) else {
            report.omissions.append("the stream '\(name.prefix(80))' is unknown")
            return
        }
        for row in try list(part["samples"], "'samples'") {
            guard let values = row.array, let time = values.first?.integer,
                values.count - 1 <= stream.columns.count
            else {
                throw Refusal(
                    .malformed,
                    "a sample of \(stream) is no list of a time in µs and at most \(stream.columns.count) values")
            }
            guard (1..<1 << 53).contains(time) else {
                throw Refusal(.malformed, "a sample of \(stream) has a time that is not in µs since 1970")
            }
            var reading = Reading(name, at: time)
            for (column, value) in zip(stream.columns, values.dropFirst()) {
                switch value {
                case .null: break
                case .integer, .real: reading.set(column.name, value.number)
                case .string(let word): reading.set(column.name, word: word)
                default: throw Refusal(.malformed, "'\(column.name)' of \(stream) has an invalid value")
                }
            }
            report.readings.append(reading)
        }
    }
}
