import LockstepModel

/// Translates the messages of the app Sensor Logger, which arrive over MQTT or HTTP.
///
/// The format: <https://github.com/tszheichoi/awesome-sensor-logger>, pages PUSHING and UNITS.
public struct SensorLoggerAdapter: GatewayAdapter {
    /// The name of the format.
    public let name = "sensorlogger"
    /// The HTTP path.
    public let path: String? = "/sensorlogger"

    /// A message may have pictures of a camera, as Base64.
    public let payloadFactor = 8
    /// The size of a text in bytes above which it is skipped.
    static let maxText = 16_384

    private let settings: SensorLoggerSettings

    /// Creates an adapter.
    public init(_ settings: SensorLoggerSettings = SensorLoggerSettings()) { self.settings = settings }

    /// The app sends several times a minute while it records, and nothing at its end.
    public let silence = SilenceLimits(all: 120_000_000)

    /// The topic of all devices, and topics that name the device.
    public var topicFilters: [String] { [settings.topic, settings.topic + "/+"] }

    /// Translates a message.
    public func translate(_ message: ForeignMessage) throws(Refusal) -> Translation {
        guard !message.payload.isEmpty else { return Translation() }
        let (content, skipped) = try ForeignJSON.parse(
            message.payload, skippingTextsAbove: Self.maxText, limit: message.contentLimit)
        guard let entries = content["payload"]?.array else {
            throw Refusal(.malformed, "the message has no 'payload' with a list of measurements")
        }
        let names = senderNames(of: message, content)
        guard let device = names.last, !names.contains("") else {
            throw Refusal(.unknownSender, "the message has no 'deviceId'")
        }
        var report = ForeignReport(sender: ForeignName(name, names))
        var measurements = SensorLoggerMeasurements(axes: settings.axes(of: device))
        for entry in entries {
            do { try measurements.add(entry) } catch { report.omissions.append(error.description) }
        }
        report.readings = measurements.readings()
        report.accelerationParts = measurements.parts
        report.omissions += measurements.omissions
        if skipped > 0 {
            report.omissions.append("large texts and lists of \(skipped) bytes, such as pictures, are not stored")
        }
        if report.readings.isEmpty, report.accelerationParts.isEmpty, let first = report.omissions.first {
            throw Refusal(.malformed, first)
        }
        report.writtenAt = measurements.newest.map { Timestamp(microseconds: $0) }
        if let session = content["sessionId"]?.string, session.utf8.count <= 64,
            let number = content["messageId"]?.integer
        {
            report.sequence = MessageNumber(session: session, number: number)
        }
        if !message.isRetained { report.presence = ForeignPresence(.foreground, reason: "recording") }
        return Translation([report])
    }

    /// The last level of a topic below the setting, or the id in the message. With such topics, the access rules of the
    /// broker can restrict who sends as which device.
    ///
    /// By HTTP, the authenticated user comes first, and the parameter `d` names one of several devices.
    private func senderNames(of message: ForeignMessage, _ content: JSONValue) -> [String] {
        switch message.origin {
        case .topic(let topic):
            if topic.hasPrefix(settings.topic + "/") { return [String(topic.dropFirst(settings.topic.count + 1))] }
        case .request(let facts):
            if facts.user != nil || facts.query["d"] != nil {
                return [facts.user, facts.query["d"]].compactMap { $0 }
            }
        }
        return [content["deviceId"]?.string].compactMap { $0 }
    }
}

/// The settings of the Sensor Logger format.
public struct SensorLoggerSettings: Sendable {
    /// The direction of the axes of accelerations and gravity, which a message does not show.
    public enum Axes: String, Sendable, CaseIterable {
        /// A phone at rest, face up, measures +9.81 m/s² along z: Android, and iOS with "Standardise Units & Frames".
        case android
        /// A phone at rest, face up, measures −9.81 m/s² along z: iOS without "Standardise Units & Frames".
        case ios
    }

    /// The topic; the last level of a topic below it names the device.
    public var topic = "sensor-logger"
    /// The axes of devices that are not in ``axesOfDevice``.
    public var axes = Axes.android
    /// The axes of single devices, by the last part of their foreign name.
    public var axesOfDevice: [String: Axes] = [:]

    /// Creates default settings.
    public init() {}

    func axes(of device: String) -> Axes { axesOfDevice[device] ?? axes }
}
