import ArgumentParser
import FoundationEssentials
import LockstepCommandLine
import LockstepGateway
import LockstepModel

/// The options of the foreign formats.
struct FormatOptions: ParsableArguments {
    static let names = [
        "owntracks-topic", "owntracks-keys", "sensor-logger-topic", "sensor-logger-axes", "senml-topic",
    ]
    /// The sections of the settings file.
    static let sections = ["sensor-logger-devices", "senml", JSONRuleSettings.key]

    @Option(
        name: .customLong("owntracks-topic"), help: "Topic levels before the user of OwnTracks (default: owntracks).")
    var ownTracksTopic: String?

    @Option(
        name: .customLong("owntracks-keys"),
        help: "File with lines 'USER/DEVICE SECRET' for encrypted OwnTracks messages, readable only by its owner.")
    var ownTracksKeys: String?

    @Option(
        name: .customLong("sensor-logger-topic"),
        help: "Topic of Sensor Logger; one more level names the device (default: sensor-logger).")
    var sensorLoggerTopic: String?

    @Option(
        name: .customLong("sensor-logger-axes"),
        help: """
            Axes of Sensor Logger: android (also iOS with 'Standardise Units & Frames') or ios (default: android). The \
            section 'sensor-logger-devices' has those of single devices.
            """)
    var sensorLoggerAxes: String?

    @Option(
        name: .customLong("senml-topic"), help: "Topic of SenML; one more level names the device (default: senml).")
    var senMLTopic: String?

    /// Returns the adapters of all formats.
    func adapters(_ settings: Settings) throws -> [any GatewayAdapter] {
        var adapters = AdapterSettings()
        if let base = try settings.value("owntracks-topic", ownTracksTopic, parse: Self.topic) {
            adapters.ownTracksBase = base
        }
        if let keys = try settings.value("owntracks-keys", ownTracksKeys, parse: keys) {
            adapters.ownTracksKeys = keys
        }
        if let topic = try settings.value("sensor-logger-topic", sensorLoggerTopic, parse: Self.topic) {
            adapters.sensorLogger.topic = topic
        }
        if let axes = try settings.value("sensor-logger-axes", sensorLoggerAxes, parse: axes) {
            adapters.sensorLogger.axes = axes
        }
        for (name, text, place) in try entries(settings.section("sensor-logger-devices")) {
            do { adapters.sensorLogger.axesOfDevice[name] = try axes(text) } catch {
                throw CommandFailure("\(place): \(error)")
            }
        }
        if let topic = try settings.value("senml-topic", senMLTopic, parse: Self.topic) { adapters.senMLTopic = topic }
        for (name, text, place) in try entries(settings.section("senml")) {
            guard let target = SenMLTarget(text), settings.streams.column(target) else {
                throw CommandFailure(
                    "\(place): '\(text)' is not a column: use STREAM.COLUMN, such as x/room.temperature")
            }
            adapters.senMLTargets[name] = target
        }
        if let (section, file) = settings.section(JSONRuleSettings.key) {
            adapters.jsonRules = try JSONRuleSettings.rules(section, streams: settings.streams, file: file)
        }
        adapters.catalog = settings.streams
        return adapters.makeAll()
    }

    private func axes(_ text: String) throws -> SensorLoggerSettings.Axes {
        try choice(text, of: SensorLoggerSettings.Axes.self)
    }

    /// Returns the lines of a section with the place of each.
    private func entries(
        _ section: (node: YAMLNode, file: String)?
    ) throws -> [(name: String, text: String, place: String)] {
        guard let (node, file) = section, node.scalar != "" else { return [] }
        guard case .mapping(let pairs) = node.content else {
            throw CommandFailure("\(file):\(node.line): expected 'name: value' pairs")
        }
        return try pairs.map { pair in
            guard let name = pair.key.scalar, let text = pair.value.scalar else {
                throw CommandFailure("\(file):\(pair.key.line): expected 'name: value'")
            }
            return (name, text, "\(file):\(pair.key.line)")
        }
    }

    static func topic(_ text: String) throws -> String {
        guard !text.isEmpty, !text.hasPrefix("$"), !text.hasPrefix("/"), !text.hasSuffix("/"),
            !text.contains(where: { "+#\0".contains($0) })
        else { throw CommandFailure("'\(text)' is not a topic: use levels without + and #") }
        return text
    }

    private func keys(_ path: String) throws -> OwnTracksKeys {
        try SecretFile.check(path)
        let text = try TextFile.read(path, "the keys")
        do { return try OwnTracksKeys(lines: text) } catch { throw CommandFailure("\(path): \(error)") }
    }
}

extension StreamCatalog {
    /// Returns whether there is a stream with this column.
    fileprivate func column(_ target: SenMLTarget) -> Bool {
        stream(ofChannel: target.stream)?.columns.contains { $0.name == target.column } == true
    }
}
