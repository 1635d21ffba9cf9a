import LockstepCommandLine
import LockstepGateway
import LockstepMQTT
import LockstepModel
import LockstepWire

struct SparkplugSettings: SettingGroup {
    let sparkplugHost = Setting(
        "sparkplug-host",
        """
        Be the Sparkplug B host application with this id: take the values of all nodes and devices. The section \
        'sparkplug' has the columns of their metrics.
        """, hostID)
    let sparkplugOut = Setting(
        "sparkplug-out",
        "Publish all devices of the broker as devices of this Sparkplug B edge node: GROUP/NODE.", edgeNode)
    /// The columns of metrics.
    let sparkplug = Setting.section("sparkplug")
}

extension Options<SparkplugSettings> {
    /// Returns the configuration of the host application, or nil if it is not switched on.
    func host(_ settings: Settings, _ gateway: GatewayConfiguration) throws -> SparkplugHostConfiguration? {
        // The section is checked also without the option.
        let targets = try targets(settings)
        guard let host = try settings.value(self.sparkplugHost) else { return nil }
        var configuration = SparkplugHostConfiguration(
            broker: gateway.broker.address, clientID: MQTTOptions.clientID("gateway", gateway.id, "sparkplug", "host"),
            host: host)
        configuration.broker = gateway.broker
        configuration.maxPayload = gateway.maxPayload
        configuration.maxFuture = gateway.maxFuture
        configuration.targets = targets
        configuration.ownNode = try settings.value(self.sparkplugOut)
        return configuration
    }

    /// Returns the configuration of the edge node, or nil if it is not switched on.
    func edge(_ settings: Settings, _ gateway: GatewayConfiguration) throws -> SparkplugEdgeConfiguration? {
        guard let node = try settings.value(self.sparkplugOut) else { return nil }
        var configuration = SparkplugEdgeConfiguration(
            broker: gateway.broker.address, clientID: MQTTOptions.clientID("gateway", gateway.id, "sparkplug", "out"),
            node: node)
        configuration.broker = gateway.broker
        configuration.root = gateway.root
        configuration.version = lockstepVersion
        return configuration
    }

    private func targets(_ settings: Settings) throws -> SparkplugTargets {
        guard let (section, file) = settings.section(self.sparkplug), section.scalar != "" else {
            return SparkplugTargets(catalog: settings.streams)
        }
        guard case .mapping(let pairs) = section.content else {
            throw CommandFailure("\(file):\(section.line): 'sparkplug' needs lines of the form 'METRIC: STREAM.COLUMN'")
        }
        var entries: [String: SparkplugTarget] = [:]
        for pair in pairs {
            guard let metric = pair.key.scalar, !metric.isEmpty else {
                throw CommandFailure("\(file):\(pair.key.line): sparkplug: expected 'METRIC: STREAM.COLUMN'")
            }
            do { entries[metric] = try target(pair.value, settings.streams) } catch {
                throw CommandFailure("\(file):\(pair.key.line): sparkplug: \(error)")
            }
        }
        return SparkplugTargets(entries, catalog: settings.streams)
    }

    private func target(_ node: YAMLNode, _ streams: StreamCatalog) throws -> SparkplugTarget {
        if let text = node.scalar { return try column(text, streams) }
        guard case .mapping(let pairs) = node.content else { throw CommandFailure("expected 'STREAM.COLUMN'") }
        var values: [String: String] = [:]
        for pair in pairs {
            guard let key = pair.key.scalar, ["column", "factor", "offset"].contains(key), let text = pair.value.scalar
            else { throw CommandFailure("valid keys are column, factor, offset") }
            values[key] = text
        }
        guard let text = values["column"] else { throw CommandFailure("the metric has no 'column'") }
        var target = try column(text, streams)
        if let factor = values["factor"] { target.factor = try number(factor) }
        if let offset = values["offset"] { target.offset = try number(offset) }
        return target
    }

    private func number(_ text: String) throws -> Double {
        guard let number = Double(text), number.isFinite else { throw CommandFailure("'\(text)' is not a number") }
        return number
    }

    private func column(_ text: String, _ streams: StreamCatalog) throws -> SparkplugTarget {
        guard let place = SenMLTarget(text), let stream = streams.stream(ofChannel: place.stream),
            stream.columns.contains(where: { $0.name == place.column })
        else {
            throw CommandFailure("'\(text)' is not a column: use STREAM.COLUMN, such as x/room.temperature")
        }
        return SparkplugTarget(stream: stream.name, column: place.column)
    }
}

private func edgeNode(_ text: String) throws -> SparkplugNode {
    guard let node = SparkplugNode(text) else {
        throw CommandFailure("'\(text)' is not an edge node: use GROUP/NODE, without + and #")
    }
    return node
}

private func hostID(_ text: String) throws -> String {
    guard SparkplugNode.isValid(text) else {
        throw CommandFailure("'\(text)' is not the id of a host application: use a text without /, + and #")
    }
    return text
}

struct HomeAssistantSettings: SettingGroup {
    let homeAssistant = Setting.flag(
        "home-assistant",
        "Show all devices of the broker in Home Assistant, by MQTT discovery.")
    let homeAssistantPrefix = Setting(
        "home-assistant-prefix",
        "Discovery prefix of Home Assistant (default: homeassistant).", topic)
    let homeAssistantTopic = Setting(
        "home-assistant-topic",
        "Topic below which states for Home Assistant are published (default: lockstep-ha).", topic)
    let homeAssistantInterval = Setting(
        "home-assistant-interval",
        "Minimum interval between two states of a device for Home Assistant (default: 5s).", parseDuration)
}

extension Options<HomeAssistantSettings> {
    /// Returns the configuration, or nil if Home Assistant is not switched on.
    func configuration(_ settings: Settings, _ gateway: GatewayConfiguration) throws -> HomeAssistantConfiguration? {
        let isOn = try settings.isOn(self.homeAssistant)
        var configuration = HomeAssistantConfiguration(
            broker: gateway.broker.address, clientID: MQTTOptions.clientID("gateway", gateway.id, "home", "assistant"))
        configuration.broker = gateway.broker
        configuration.root = gateway.root
        configuration.version = lockstepVersion
        try settings.assign(self.homeAssistantPrefix, to: &configuration.prefix)
        if let topic = try settings.value(self.homeAssistantTopic) {
            guard topic != gateway.root.text, !topic.hasPrefix(gateway.root.text + "/") else {
                throw CommandFailure(
                    "--home-assistant-topic '\(topic)' is below the topic prefix '\(gateway.root)', where collectors "
                        + "would refuse its messages: use another topic")
            }
            configuration.topic = topic
        }
        try settings.assign(self.homeAssistantInterval, to: &configuration.interval)
        return isOn ? configuration : nil
    }
}
