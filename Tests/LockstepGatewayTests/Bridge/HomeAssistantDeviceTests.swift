import LockstepMQTT
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepGateway

private let address = DeviceAddress(group: GroupID(unchecked: "g"), device: DeviceID(unchecked: "d"))

@Suite("Home Assistant device")
struct HomeAssistantDeviceTests {
    @Test("an interval of steps counts once, however often and in whichever order it arrives")
    func steps() {
        var totals = IntervalTotals()
        for end: Int64 in [30, 10, 30, 20, 10] { totals.add(5, distance: end == 20 ? nil : 2, until: end) }
        #expect(totals.count == 15)
        #expect(totals.distance == 4)
        #expect(totals.newest == 30)
        totals.add(.nan, distance: 1, until: 40)
        totals.add(-3, distance: 1, until: 50)
        #expect(totals.count == 15)
        for end in Int64(100)..<20_100 { totals.add(1, distance: nil, until: end) }
        totals.add(1000, distance: nil, until: 10)
        #expect(totals.count == 20_015)
    }

    @Test("floors are added up, up and down, and are unknown without any")
    func floors() {
        let now = Timestamp(microseconds: 100)
        var device = HomeAssistantDevice(address)
        func shows(_ text: String) -> Bool {
            String(decoding: HomeAssistantState.values(of: device, measuring: [], at: now), as: UTF8.self).contains(
                text)
        }
        #expect(shows(#""floors_ascended":null,"floors_descended":null"#))
        device.note(
            SampleBlock(stream: .floors, times: [10, 20, 30], columns: [[1, 11, 21], [1, 2, 0], [0, 0, 1]]), at: now)
        device.note(SampleBlock(stream: .floors, times: [20], columns: [[11], [2], [0]]), at: now)
        #expect(shows(#""floors_ascended":3,"floors_descended":1"#))
        #expect(HomeAssistantEntity.all(measuring: []).filter { $0.key.hasPrefix("floors_") }.count == 2)
    }

    @Test("different devices have different ids, which consist of characters that Home Assistant accepts")
    func ids() throws {
        let configuration = HomeAssistantConfiguration(
            broker: BrokerAddress(host: "localhost", port: 1883), clientID: "c")
        let names = [("a_", "b"), ("a", "_b"), ("a.b", "c"), ("a_2eb", "c"), ("a__b", "c"), ("a", "b__c")]
        let ids = try names.map { group, device in
            HomeAssistantDiscovery(
                configuration: configuration,
                address: DeviceAddress(group: try GroupID(validating: group), device: try DeviceID(validating: device))
            ).id
        }
        #expect(Set(ids).count == names.count)
        #expect(ids[2] == "lockstep_a_2eb__c")
        #expect(
            ids.compactMap { HomeAssistantDiscovery.address(ofID: $0)?.description } == names.map { "\($0)/\($1)" })
        for id in [
            "lockstep_", "lockstep_a", "lockstep_a__", "other_a__b", "lockstep_a__b_", "lockstep_a__b_2",
            "lockstep_a__b_20",
        ] {
            #expect(HomeAssistantDiscovery.address(ofID: id) == nil, "\(id)")
        }
        #expect(ids.allSatisfy { $0.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil })
    }

    @Test("a device that was deleted while the connection was lost is removed, with all of its topics")
    func deletedMeanwhile() throws {
        let configuration = HomeAssistantConfiguration(
            broker: BrokerAddress(host: "localhost", port: 1883), clientID: "c")
        var devices = HomeAssistantDevices(configuration)
        func state(_ device: String, at boot: Int64) throws {
            let transition = LifecycleTransition(
                from: nil, to: .active, since: Timestamp(microseconds: 1), reason: "foreground", seq: 1)
            try StateJSON.encode(transition).withUnsafeBytes {
                try devices.handle(
                    topic: "lockstep/site/\(device)/state", payload: $0, contentType: nil,
                    at: Moment(wall: Timestamp(microseconds: 1), boot: boot, awake: boot))
            }
        }
        func deletions(at boot: Int64) -> Set<String> {
            let moment = Moment(wall: Timestamp(microseconds: 1), boot: boot, awake: boot)
            return Set(devices.takeMessages(at: moment).filter(\.payload.isEmpty).map(\.topic))
        }
        devices.didConnect(at: 0)
        try state("a", at: 1)
        try state("b", at: 1)
        #expect(deletions(at: 20_000_000).isEmpty)
        devices.didConnect(at: 30_000_000)
        try state("b", at: 30_000_001)
        #expect(deletions(at: 31_000_000).isEmpty)
        #expect(
            deletions(at: 50_000_000) == [
                "homeassistant/device/lockstep_site__a/config", "lockstep-ha/site/a/state",
                "lockstep-ha/site/a/location", "lockstep-ha/site/a/availability",
            ])
        #expect(devices.count == 1)
    }

    @Test("an older position, battery or last will does not replace a newer one")
    func order() {
        var device = HomeAssistantDevice(address)
        func fix(_ time: Int64, _ latitude: Double) -> SampleBlock {
            SampleBlock(
                stream: .location, times: [time],
                columns: SensorStream.location.columns.map { [$0.name == "lat" ? latitude : 1] })
        }
        let now = Timestamp(microseconds: 30)
        device.note(fix(20, 2), at: now)
        device.note(fix(10, 1), at: now)
        #expect(device.fix?.latitude == 2)
        device.note(SampleBlock(stream: .battery, times: [20, 10], columns: [[0.5, 0.9], [2, 1]]), at: now)
        #expect(device.battery == .init(order: 20, level: 0.5, isCharging: false))
        device.note(Presence(epoch: nil, session: 2, phase: .foreground, at: nil))
        device.note(Presence(epoch: nil, session: 1, phase: .lost, at: nil))
        #expect(device.isConnected)
        device.note(Presence(epoch: nil, session: 2, phase: .lost, at: nil))
        #expect(!device.isConnected)
    }

    @Test("a sample from the future does not block later ones")
    func future() {
        var device = HomeAssistantDevice(address)
        func note(_ time: Int64, _ latitude: Double, at now: Int64) {
            let columns = SensorStream.location.columns.map { [$0.name == "lat" ? latitude : 1] }
            device.note(
                SampleBlock(stream: .location, times: [time], columns: columns), at: Timestamp(microseconds: now))
        }
        note(50_000_000_000, 1, at: 10_000_000)
        #expect(device.fix?.latitude == 1)
        #expect(device.isMoving(at: Timestamp(microseconds: 300_000_000)) == false)
        note(11_000_000, 2, at: 11_000_000)
        #expect(device.fix?.latitude == 2)
        #expect(device.newest == 11_000_000)
    }

    @Test("a device moves while a recent fix has a speed or steps are recent; it is unknown without either")
    func moving() {
        let second: Int64 = 1_000_000
        var device = HomeAssistantDevice(address)
        #expect(device.isMoving(at: Timestamp(microseconds: 0)) == nil)
        device.note(
            SampleBlock(
                stream: .steps, times: [100 * second],
                columns: SensorStream.steps.columns.map { [$0.name == "steps" ? 3 : .nan] }),
            at: Timestamp(microseconds: 100 * second))
        #expect(device.isMoving(at: Timestamp(microseconds: 120 * second)) == true)
        #expect(device.isMoving(at: Timestamp(microseconds: 140 * second)) == false)
        device.note(
            SampleBlock(
                stream: .location, times: [150 * second],
                columns: SensorStream.location.columns.map { [$0.name == "speed" ? 0.6 : 1] }),
            at: Timestamp(microseconds: 150 * second))
        #expect(device.isMoving(at: Timestamp(microseconds: 160 * second)) == true)
        #expect(device.isMoving(at: Timestamp(microseconds: 300 * second)) == false)
    }

    @Test("pressure and declared streams are shown with their units, and the group as an area")
    func measurements() throws {
        var configuration = HomeAssistantConfiguration(
            broker: BrokerAddress(host: "localhost", port: 1883), clientID: "c")
        let air = try SensorStream(
            declaring: "x/air",
            columns: [
                .init(declaring: "co2", kind: .real, unit: "ppm"),
                .init(declaring: "mode", kind: .choice(["on", "off"]), isRequired: false),
            ])
        configuration.root.streams = try StreamCatalog(declared: [air])
        var devices = HomeAssistantDevices(configuration)
        #expect(devices.filters.contains("lockstep/+/+/x/air") && devices.filters.contains("lockstep/+/+/pressure"))
        for (channel, text) in [
            ("pressure", #"{"v":1,"t":10,"dt":5,"pressure":[1013.2100219726562,900]}"#),
            ("x/air", #"{"v":1,"t":10,"co2":[415.5],"mode":["off"]}"#),
        ] {
            try Array(text.utf8).withUnsafeBytes {
                try devices.handle(topic: "lockstep/g/d/\(channel)", payload: $0, contentType: nil, at: Self.moment)
            }
        }
        let messages = devices.takeMessages(at: Self.moment)
        let texts = Dictionary(
            uniqueKeysWithValues: messages.map { ($0.topic, String(decoding: $0.payload, as: UTF8.self)) })
        let discovery = try #require(texts["homeassistant/device/lockstep_g__d/config"])
        #expect(discovery.contains(#""suggested_area":"g""#))
        for part in [
            #""name":"Pressure","device_class":"atmospheric_pressure","state_class":"measurement","unit_of_measurement":"hPa""#,
            #""name":"Air co2","state_class":"measurement","unit_of_measurement":"ppm""#,
            #""name":"Air mode","device_class":"enum","options":["on","off"]"#,
        ] {
            #expect(discovery.contains(part), "\(discovery)")
        }
        let state = try #require(texts["lockstep-ha/g/d/state"])
        #expect(
            state.contains(#""pressure":900"#) && state.contains(#""x_air_co2":415.5,"x_air_mode":"off""#), "\(state)")
    }

    @Test("the activity is a sensor with words, and unknown where it is not recognised")
    func activity() throws {
        var devices = HomeAssistantDevices(
            HomeAssistantConfiguration(broker: BrokerAddress(host: "localhost", port: 1883), clientID: "c"))
        #expect(devices.filters.contains("lockstep/+/+/activity"))
        func text(of topic: String, value: String, at time: Int64) throws -> String {
            let text = #"{"v":1,"t":\#(time),"start":[1],"value":["\#(value)"],"confidence":["high"]}"#
            // Later than the least interval between two messages.
            let moment = Moment(
                wall: Timestamp(microseconds: time), boot: time * 10_000_000, awake: time * 10_000_000)
            try Array(text.utf8).withUnsafeBytes {
                try devices.handle(topic: "lockstep/g/d/activity", payload: $0, contentType: nil, at: moment)
            }
            let message = devices.takeMessages(at: moment).last { $0.topic == topic }
            return String(decoding: try #require(message).payload, as: UTF8.self)
        }
        let discovery = try text(
            of: "homeassistant/device/lockstep_g__d/config", value: "stationary", at: 10)
        #expect(
            discovery.contains(
                #""name":"Activity","device_class":"enum","options":["stationary","walking","running","cycling","#
                    + #""automotive"]"#), "\(discovery)")
        #expect(!discovery.contains("confidence"))
        let state = "lockstep-ha/g/d/state"
        #expect(try text(of: state, value: "automotive", at: 20).contains(#""activity":"automotive""#))
        #expect(try text(of: state, value: "unknown", at: 30).contains(#""activity":null"#))
    }

    @Test("a device whose only sensors are simulated is not shown, also if its state arrives first")
    func simulated() throws {
        let configuration = HomeAssistantConfiguration(
            broker: BrokerAddress(host: "localhost", port: 1883), clientID: "c")
        var devices = HomeAssistantDevices(configuration)
        func presence(_ device: String, _ sources: [String: String]) throws {
            let presence = Presence(epoch: nil, session: 1, phase: .foreground, at: nil, sources: sources)
            try PresenceJSON.encode(presence).withUnsafeBytes {
                try devices.handle(
                    topic: "lockstep/g/\(device)/presence", payload: $0, contentType: nil, at: Self.moment)
            }
        }
        func announced() -> [String] {
            devices.takeMessages(at: Self.moment).filter { $0.topic.hasSuffix("/config") }
                .map { "\($0.topic.dropFirst("homeassistant/device/lockstep_g__".count)) \($0.payload.isEmpty)" }
        }
        try presence("a", ["simulate:1": "running"])
        try presence("b", ["simulate:1": "running", "iio": "running"])
        try presence("c", [:])
        #expect(announced() == ["b/config false", "c/config false"])
        #expect(devices.takeLeftOut()?.device.description == "g/a")
        try presence("c", ["simulate:2": "running"])
        #expect(announced() == ["c/config true"], "it is removed")
        #expect(devices.takeLeftOut() == nil, "it is reported once")
        try presence("c", [:])
        #expect(announced() == [], "a last will names no sources")
        try presence("a", ["iio": "running"])
        #expect(announced() == ["a/config false"])
    }

    private static let moment = Moment(wall: Timestamp(microseconds: 1000), boot: 20_000_000, awake: 20_000_000)
}
