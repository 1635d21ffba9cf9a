import LockstepModel
import LockstepWire

/// The discovery message of a device, with which Home Assistant creates its entities (device-based discovery, from
/// Home Assistant 2024.11).
struct HomeAssistantDiscovery {
    let configuration: HomeAssistantConfiguration
    let address: DeviceAddress

    /// The id of the device in Home Assistant: `lockstep_GROUP__DEVICE`, with `_` and two hexadecimal digits for each
    /// character that a discovery topic cannot contain, and for `_`. Different devices have different ids.
    var id: String {
        Self.idPrefix + Self.escaped(address.group.rawValue) + "__" + Self.escaped(address.device.rawValue)
    }

    static let idPrefix = "lockstep_"

    var topic: String { "\(configuration.prefix)/device/\(id)/config" }
    var stateTopic: String { base + "/state" }
    var locationTopic: String { base + "/location" }
    var availabilityTopic: String { base + "/availability" }

    private var base: String { "\(configuration.topic)/\(address.group)/\(address.device)" }

    /// The topics of all retained messages.
    var topics: [String] { [topic, stateTopic, locationTopic, availabilityTopic] }

    var payload: [UInt8] {
        var object = JSONObjectWriter(reservingCapacity: 4096)
        object.member("device") { device in
            device.member("identifiers", [id]) { $0.string($1) }
            device.member("name", address.device.rawValue)
            device.member("manufacturer", "Lockstep")
            device.member("model", address.group.rawValue)
            // Home Assistant creates the area, and a person may move the device to another one.
            if address.group != .standard { device.member("suggested_area", address.group.rawValue) }
        }
        object.member("origin") { origin in
            origin.member("name", "lockstep")
            origin.member("sw_version", ifPresent: configuration.version)
        }
        object.member("qos", Int64(1))
        writeAvailability([configuration.bridgeTopic, availabilityTopic], &object)
        object.member("components") { components in
            for entity in HomeAssistantEntity.all(measuring: configuration.measuredStreams) {
                write(entity, &components)
            }
        }
        return object.finish()
    }

    private func write(_ entity: HomeAssistantEntity, _ components: inout JSONObjectWriter) {
        components.member(entity.key) { component in
            component.member("platform", entity.platform)
            component.member("unique_id", "\(id)_\(entity.key)")
            component.member("name", entity.name)
            for (key, value) in entity.properties { component.member(key, value) }
            if !entity.options.isEmpty { component.member("options", entity.options) { $0.string($1) } }
            if entity.platform == "device_tracker" {
                component.member("json_attributes_topic", locationTopic)
            } else {
                component.member("state_topic", stateTopic)
                component.member("value_template", "{{ value_json.\(entity.key) }}")
            }
            // The state of a device is known while the device is not connected.
            if entity.isAlwaysAvailable { writeAvailability([configuration.bridgeTopic], &component) }
        }
    }

    private func writeAvailability(_ topics: [String], _ object: inout JSONObjectWriter) {
        object.member("availability", topics) { list, topic in list.object { $0.member("topic", topic) } }
        object.member("availability_mode", "all")
    }

    /// Returns the address of the device with an id, or nil if ``id`` never gives it.
    static func address(ofID id: some StringProtocol) -> DeviceAddress? {
        guard id.hasPrefix(idPrefix), let separator = id.dropFirst(idPrefix.count).firstRange(of: "__") else {
            return nil
        }
        let rest = id.dropFirst(idPrefix.count)
        guard let group = unescaped(rest[..<separator.lowerBound]).flatMap({ GroupID(rawValue: $0) }),
            let device = unescaped(rest[separator.upperBound...]).flatMap({ DeviceID(rawValue: $0) })
        else { return nil }
        return DeviceAddress(group: group, device: device)
    }

    private static func unescaped(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Substring(text)
        while let character = rest.popFirst() {
            guard character == "_" else {
                bytes += Array(character.utf8)
                continue
            }
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            rest = rest.dropFirst(2)
            bytes.append(byte)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-")
                ? String(Unicode.Scalar(byte)) : "_" + [byte].hexadecimal
        }.joined()
    }
}

/// The messages with the values of a device. Unknown values are null.
enum HomeAssistantState {
    /// Returns the values of all entities except for the position.
    /// - Parameter streams: the streams whose columns have entities.
    static func values(
        of device: HomeAssistantDevice, measuring streams: [SensorStream], at now: Timestamp
    ) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("state", orNull: device.transition?.to.rawValue)
        object.member("since", orNull: device.transition?.since.description)
        object.member("reason", orNull: device.transition?.reason)
        object.member("connected", device.isConnected ? "ON" : "OFF")
        object.member("moving", orNull: device.isMoving(at: now).map { $0 ? "ON" : "OFF" })
        object.member("battery", orNull: device.battery?.level.map { Int64(($0.clamped() * 100).rounded()) })
        object.member("charging", orNull: device.battery?.isCharging.map { $0 ? "ON" : "OFF" })
        let totals = [
            ("steps", device.steps), ("floors_ascended", device.floorsAscended),
            ("floors_descended", device.floorsDescended),
        ]
        for (key, total) in totals { object.member(key, orNull: total.isKnown ? total.count : nil) }
        if let distance = device.steps.distance {
            object.member("distance", (distance * 10).rounded() / 10)
        } else {
            object.nullMember("distance")
        }
        for stream in streams {
            for column in HomeAssistantEntity.columns(of: stream) {
                let key = HomeAssistantEntity.key(of: column, in: stream)
                guard let value = device.measurements[key]?.value else {
                    object.nullMember(key)
                    continue
                }
                switch column.kind {
                case .real: object.member(key, (value * 1e4).rounded() / 1e4)
                case .integer: object.member(key, Int64(value))
                case .choice(let words):
                    let word = words[Int(value)]
                    let isKnown = HomeAssistantEntity.options(words, of: stream).contains(word)
                    object.member(key, orNull: isKnown ? word : nil)
                }
            }
        }
        object.member("last_sample", orNull: device.newest.map { Timestamp(microseconds: $0).description })
        return object.finish()
    }

    /// Returns the attributes of the device tracker, or nil without a position.
    static func location(of device: HomeAssistantDevice) -> [UInt8]? {
        guard let fix = device.fix, abs(fix.latitude) <= 90, abs(fix.longitude) <= 180 else { return nil }
        var object = JSONObjectWriter()
        object.member("latitude", fix.latitude)
        object.member("longitude", fix.longitude)
        // Home Assistant ignores a position without an accuracy.
        object.member("gps_accuracy", (fix.accuracy ?? 0).rounded(.up))
        if let altitude = fix.altitude { object.member("altitude", altitude) }
        if let speed = fix.speed { object.member("speed", speed) }
        if let course = fix.course { object.member("course", course) }
        object.member("time", Timestamp(microseconds: fix.time).description)
        return object.finish()
    }
}

extension Double {
    fileprivate func clamped() -> Double { min(1, max(0, self)) }
}
