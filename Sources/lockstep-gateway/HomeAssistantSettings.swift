import LockstepCommandLine
import LockstepGateway
import LockstepMQTT
import LockstepWire

/// The settings for Home Assistant.
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
            broker: gateway.broker, clientID: MQTTOptions.clientID("gateway", gateway.id, "home", "assistant"))
        configuration.tls = gateway.tls
        configuration.mqttVersion = gateway.mqttVersion
        configuration.keepAlive = gateway.keepAlive
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
