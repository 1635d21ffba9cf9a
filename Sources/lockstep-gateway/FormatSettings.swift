import FoundationEssentials
import LockstepCommandLine
import LockstepGateway
import LockstepModel

struct FormatSettings: SettingGroup {
    let ownTracksTopic = Setting(
        "owntracks-topic",
        "Topic levels before the user of OwnTracks (default: owntracks).", topic)
    let ownTracksKeys = Setting.file(
        "owntracks-keys",
        "File with lines 'USER/DEVICE SECRET' for encrypted OwnTracks messages, readable only by its owner.", keysFile)
    let sensorLoggerTopic = Setting(
        "sensor-logger-topic",
        "Topic of Sensor Logger; one more level names the device (default: sensor-logger).", topic)
    let sensorLoggerAxes = Setting(
        "sensor-logger-axes",
        """
        Axes of Sensor Logger: android (also iOS with 'Standardise Units & Frames') or ios (default: android). The \
        section 'sensor-logger-devices' has those of single devices.
        """, axes)
    let senMLTopic = Setting(
        "senml-topic",
        "Topic of SenML; one more level names the device (default: senml).", topic)
    /// The axes of single devices of Sensor Logger.
    let sensorLoggerDevices = Setting.section("sensor-logger-devices")
    /// The columns of names of SenML.
    let senml = Setting.section("senml")
    /// The rules for JSON of any form.
    let json = Setting.section("json")
}

extension Options<FormatSettings> {
    func adapters(_ settings: Settings) throws -> [any GatewayAdapter] {
        var adapters = AdapterSettings()
        try settings.assign(self.ownTracksTopic, to: &adapters.ownTracksBase)
        if let keys = try settings.value(self.ownTracksKeys) { adapters.ownTracksKeys = keys }
        try settings.assign(self.sensorLoggerTopic, to: &adapters.sensorLogger.topic)
        try settings.assign(self.sensorLoggerAxes, to: &adapters.sensorLogger.axes)
        for (name, text, place) in try entries(settings.section(self.sensorLoggerDevices)) {
            do { adapters.sensorLogger.axesOfDevice[name] = try axes(text) } catch {
                throw CommandFailure("\(place): \(error)")
            }
        }
        try settings.assign(self.senMLTopic, to: &adapters.senMLTopic)
        for (name, text, place) in try entries(settings.section(self.senml)) {
            guard let target = SenMLTarget(text), settings.streams.column(target) else {
                throw CommandFailure(
                    "\(place): '\(text)' is not a column: use STREAM.COLUMN, such as x/room.temperature")
            }
            adapters.senMLTargets[name] = target
        }
        if let (section, file) = settings.section(self.json) {
            adapters.jsonRules = try JSONRuleSettings.rules(section, streams: settings.streams, file: file)
        }
        adapters.catalog = settings.streams
        return adapters.makeAll()
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
}

private func axes(_ text: String) throws -> SensorLoggerSettings.Axes {
    try choice(text, of: SensorLoggerSettings.Axes.self)
}

/// Parses a topic without wildcards.
func topic(_ text: String) throws -> String {
    guard !text.isEmpty, !text.hasPrefix("$"), !text.hasPrefix("/"), !text.hasSuffix("/"),
        !text.contains(where: { "+#\0".contains($0) })
    else { throw CommandFailure("'\(text)' is not a topic: use levels without + and #") }
    return text
}

private func keysFile(_ path: String) throws -> OwnTracksKeys {
    try SecretFile.check(path)
    let text = try TextFile.read(path, "the keys")
    do { return try OwnTracksKeys(lines: text) } catch { throw CommandFailure("\(path): \(error)") }
}

extension StreamCatalog {
    fileprivate func column(_ target: SenMLTarget) -> Bool {
        stream(ofChannel: target.stream)?.columns.contains { $0.name == target.column } == true
    }
}

struct PhyphoxSettings: SettingGroup {
    let phyphox = Setting.list(
        "phyphox",
        """
        Read the measurements of the app phyphox on a phone with remote access: URL or URL=GROUP/DEVICE. May be \
        repeated.
        """, phone)
}

extension Options<PhyphoxSettings> {
    /// Returns the phones, and adds their devices to the mapping.
    func phones(_ settings: Settings, _ mapping: inout DeviceMapping) throws -> [PhyphoxPhone] {
        let entries = try settings.values(self.phyphox)
        var phones: [PhyphoxPhone] = []
        for (phone, address) in entries {
            guard !phones.contains(phone) else { throw CommandFailure("--phyphox \(phone) occurs twice") }
            let name = phone.sender.description
            if let address { mapping.entries[name] = address }
            guard mapping.acceptsAny || mapping.entries[name] != nil else {
                throw CommandFailure(
                    "--phyphox \(phone) has no device: use \(phone)=GROUP/DEVICE, or --accept any")
            }
            phones.append(phone)
        }
        return phones
    }
}

private func phone(_ text: String) throws -> (phone: PhyphoxPhone, address: DeviceAddress?) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let phone = PhyphoxPhone(parts[0]) else {
        throw CommandFailure("'\(parts[0])' is not the URL of a phone: use http://HOST:PORT, as phyphox shows it")
    }
    return (phone, parts.count == 2 ? try DeviceMapping.address(parts[1]) : nil)
}
