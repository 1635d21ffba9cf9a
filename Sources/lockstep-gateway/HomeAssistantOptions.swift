import ArgumentParser
import LockstepCommandLine
import LockstepGateway
import LockstepMQTT
import LockstepWire

/// The options for Home Assistant.
struct HomeAssistantOptions: ParsableArguments {
    static let names = [
        "home-assistant", "home-assistant-prefix", "home-assistant-topic", "home-assistant-interval",
    ]

    @Flag(help: "Show all devices of the broker in Home Assistant, by MQTT discovery.")
    var homeAssistant = false

    @Option(help: "Discovery prefix of Home Assistant (default: homeassistant).")
    var homeAssistantPrefix: String?

    @Option(help: "Topic below which states for Home Assistant are published (default: lockstep-ha).")
    var homeAssistantTopic: String?

    @Option(help: "Minimum interval between two states of a device for Home Assistant (default: 5s).")
    var homeAssistantInterval: String?

    /// Returns the configuration, or nil if Home Assistant is not switched on.
    func configuration(_ settings: Settings, _ gateway: GatewayConfiguration) throws -> HomeAssistantConfiguration? {
        let isOn = try settings.value("home-assistant", homeAssistant ? "true" : nil, parse: Self.truth) ?? false
        var configuration = HomeAssistantConfiguration(
            broker: gateway.broker, clientID: MQTTOptions.clientID("gateway", gateway.id, "home", "assistant"))
        configuration.tls = gateway.tls
        configuration.mqttVersion = gateway.mqttVersion
        configuration.keepAlive = gateway.keepAlive
        configuration.root = gateway.root
        configuration.version = lockstepVersion
        if let prefix = try settings.value("home-assistant-prefix", homeAssistantPrefix, parse: FormatOptions.topic) {
            configuration.prefix = prefix
        }
        if let topic = try settings.value("home-assistant-topic", homeAssistantTopic, parse: FormatOptions.topic) {
            guard topic != gateway.root.text, !topic.hasPrefix(gateway.root.text + "/") else {
                throw CommandFailure(
                    "--home-assistant-topic '\(topic)' is below the topic prefix '\(gateway.root)', where collectors "
                        + "would refuse its messages: use another topic")
            }
            configuration.topic = topic
        }
        if let interval = try settings.value("home-assistant-interval", homeAssistantInterval, parse: parseDuration) {
            configuration.interval = interval
        }
        return isOn ? configuration : nil
    }

    private static func truth(_ text: String) throws -> Bool {
        guard let value = Bool(text) else { throw CommandFailure("'\(text)' is not one of true, false") }
        return value
    }
}
