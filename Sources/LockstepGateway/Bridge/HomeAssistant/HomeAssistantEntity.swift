import LockstepModel

/// An entity of each device in Home Assistant.
struct HomeAssistantEntity {
    /// The name in the discovery message, in the unique id, and in the state message.
    let key: String
    let platform: String
    let name: String
    /// Further members of its configuration.
    var properties: [(key: String, value: String)] = []
    /// The values of an `enum` sensor.
    var options: [String] = []
    /// Whether it is available while the device is not connected.
    var isAlwaysAvailable = false

    /// All entities of a device.
    static let all = [
        HomeAssistantEntity(
            key: "state", platform: "sensor", name: "State",
            properties: [("device_class", "enum"), ("icon", "mdi:state-machine")],
            options: LifecycleState.allCases.map(\.rawValue), isAlwaysAvailable: true),
        HomeAssistantEntity(
            key: "connected", platform: "binary_sensor", name: "Connected",
            properties: [("device_class", "connectivity"), ("entity_category", "diagnostic")], isAlwaysAvailable: true),
        HomeAssistantEntity(
            key: "location", platform: "device_tracker", name: "Location", properties: [("source_type", "gps")]),
        HomeAssistantEntity(
            key: "moving", platform: "binary_sensor", name: "Moving", properties: [("device_class", "moving")]),
        HomeAssistantEntity(
            key: "battery", platform: "sensor", name: "Battery",
            properties: [
                ("device_class", "battery"), ("state_class", "measurement"), ("unit_of_measurement", "%"),
                ("entity_category", "diagnostic"),
            ]),
        HomeAssistantEntity(
            key: "charging", platform: "binary_sensor", name: "Charging",
            properties: [("device_class", "battery_charging"), ("entity_category", "diagnostic")]),
        HomeAssistantEntity(
            key: "steps", platform: "sensor", name: "Steps",
            properties: [
                ("state_class", "total_increasing"), ("unit_of_measurement", "steps"), ("icon", "mdi:walk"),
            ]),
        HomeAssistantEntity(
            key: "distance", platform: "sensor", name: "Distance",
            properties: [
                ("device_class", "distance"), ("state_class", "total_increasing"), ("unit_of_measurement", "m"),
            ]),
        HomeAssistantEntity(
            key: "last_sample", platform: "sensor", name: "Last sample",
            properties: [("device_class", "timestamp"), ("entity_category", "diagnostic")], isAlwaysAvailable: true),
    ]
}
