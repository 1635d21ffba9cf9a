import LockstepModel

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

    /// Returns all entities of a device.
    /// - Parameter streams: the streams whose columns have entities.
    static func all(measuring streams: [SensorStream]) -> [HomeAssistantEntity] {
        common + streams.flatMap { stream in columns(of: stream).map { Self($0, of: stream) } }
    }

    /// The columns of a stream that have entities.
    static func columns(of stream: SensorStream) -> [SensorStream.Column] {
        stream == .activity ? stream.columns.filter { $0.name == "value" } : stream.columns.filter { !$0.isTime }
    }

    static func key(of column: SensorStream.Column, in stream: SensorStream) -> String {
        if stream == .activity { return stream.name }
        return stream.isDeclared ? "\(stream.table)_\(column.name)" : column.name
    }

    /// The words that are values of an `enum` sensor. Home Assistant has a state of its own for what is unknown.
    static func options(_ words: [String], of stream: SensorStream) -> [String] {
        stream.isDeclared ? words : words.filter { $0 != "unknown" }
    }

    private init(_ column: SensorStream.Column, of stream: SensorStream) {
        key = Self.key(of: column, in: stream)
        platform = "sensor"
        let title =
            stream.isDeclared
            ? "\(stream.name.dropFirst(SensorStream.declaredPrefix.count)) \(column.name)" : key
        name = title.prefix(1).uppercased() + title.dropFirst()
        if case .choice(let words) = column.kind {
            properties = [("device_class", "enum")]
            options = Self.options(words, of: stream)
            return
        }
        if stream == .pressure { properties.append(("device_class", "atmospheric_pressure")) }
        // An amount of an interval is no measurement.
        if column.aggregate != .sum { properties.append(("state_class", "measurement")) }
        if !column.unit.isEmpty { properties.append(("unit_of_measurement", column.unit)) }
    }

    private init(
        key: String, platform: String, name: String, properties: [(key: String, value: String)] = [],
        options: [String] = [], isAlwaysAvailable: Bool = false
    ) {
        (self.key, self.platform, self.name) = (key, platform, name)
        (self.properties, self.options, self.isAlwaysAvailable) = (properties, options, isAlwaysAvailable)
    }

    private static let common = [
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
            key: "floors_ascended", platform: "sensor", name: "Floors ascended",
            properties: [
                ("state_class", "total_increasing"), ("unit_of_measurement", "floors"), ("icon", "mdi:stairs-up"),
            ]),
        HomeAssistantEntity(
            key: "floors_descended", platform: "sensor", name: "Floors descended",
            properties: [
                ("state_class", "total_increasing"), ("unit_of_measurement", "floors"), ("icon", "mdi:stairs-down"),
            ]),
        HomeAssistantEntity(
            key: "last_sample", platform: "sensor", name: "Last sample",
            properties: [("device_class", "timestamp"), ("entity_category", "diagnostic")], isAlwaysAvailable: true),
    ]
}
