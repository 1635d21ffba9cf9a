import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("LiveDevices")
struct LiveDevicesTests {
    private var live = LiveDevices(root: .standard)
    private let left = device("left")

    @Test("a state is a change only if it differs from the known one")
    mutating func state() throws {
        let first = live.handle(.state(transition(.active), of: left), at: 0)
        guard case .state(left, let change) = first else {
            Issue.record("\(String(describing: first))")
            return
        }
        #expect(change == transition(.active))
        #expect(live.handle(.state(transition(.active), of: left), at: 1) == nil)
        #expect(live[left]?.transition?.to == .active)
        live.handle(.state(transition(.background, from: .active, seq: 2), of: left), at: 2)
        #expect(live[left]?.transition?.to == .background)
    }

    @Test("presence keeps the newest session, and a heartbeat is no news")
    mutating func presence() {
        #expect(isNews(live.handle(.presence(.foreground, of: left, session: 2), at: 0)) == true)
        #expect(isNews(live.handle(.presence(.foreground, of: left, session: 2), at: 1)) == false)
        #expect(live.handle(.presence(.lost, of: left, session: 1), at: 2) == nil)
        #expect(live[left]?.presence?.phase == .foreground)
        let message = Message.presence(.foreground, of: left, session: 2, dropped: [3...5, 9...9], droppedSamples: 70)
        #expect(isNews(live.handle(message, at: 3)) == true)
        #expect(live[left]?.droppedBatches == 4)
        #expect(live[left]?.droppedSamples == 70)
    }

    @Test(
        "the state of a session is kept until it is deleted or the connection is new; requests about it change nothing")
    mutating func sessions() {
        let key = RecordingSession.Key(group: GroupID(unchecked: "lab"), id: SessionID(unchecked: "walk-3"))
        let session = RecordingSession(key: key, name: "walk 3", created: Timestamp(microseconds: 5))
        let (topic, now) = (TopicRoot.standard.topic(key), moment(0))
        func send(_ payload: [UInt8], to topic: String) {
            payload.withUnsafeBytes { _ = live.handle(topic: topic, payload: $0, at: now) }
        }
        send(SessionJSON.encode(session), to: topic)
        send(Array("turn".utf8), to: TopicRoot.standard.topic(key, .mark))
        #expect(live.sessions == [key: session])
        send([], to: topic)
        #expect(live.sessions.isEmpty)
        send(SessionJSON.encode(session), to: topic)
        live.didConnect()
        #expect(live.sessions.isEmpty)
        send(SessionJSON.encode(session), to: topic)
        #expect(live.sessions == [key: session])
    }

    @Test("samples set the newest time and values, and late batches do not set them back")
    mutating func newest() throws {
        live.handle(.samples(samples(10, from: 5), of: left), at: 6)
        live.handle(.samples(samples(10, from: 1), of: left, isLive: false), at: 7)
        let known = try #require(live[left])
        #expect(known.newest == Timestamp(microseconds: moment(5).wall.microseconds + 90_000))
        #expect(known[.accelerometer]?.newestValues == [9, 9.125, 9.25])
        #expect(known.received == 20)
        #expect(known[.accelerometer]?.recent.count == 1, "late samples are not live")
    }

    @Test("a stream is known only if it is declared")
    mutating func declaredStreams() throws {
        let co2 = try SensorStream(
            declaring: "x/co2", summary: "CO2",
            columns: [.init(declaring: "ppm", kind: .real, unit: "ppm", isRequired: true, summary: "CO2")])
        let message = Message.samples(samples(3, of: co2, from: 0), of: left)
        guard case .unreadable(_, let reason) = live.handle(message, at: 0) else {
            Issue.record("the stream is not declared")
            return
        }
        #expect(reason.contains("not declared"))
        #expect(live.devices.isEmpty)
        var root = TopicRoot.standard
        root.streams = try StreamCatalog(declared: [co2])
        live = LiveDevices(root: root)
        live.handle(message, at: 0)
        #expect(live[left]?[co2]?.newestValues == [2])
    }

    @Test("a request, an acknowledgement or a reply does not add a device")
    mutating func addressedDevices() {
        for channel in ["command", "ack", "command/reply"] { live.handle(Message(left, channel, [0x7b, 0x7d]), at: 0) }
        #expect(live.devices.isEmpty)
        #expect(live.routes.isEmpty, "topics of unknown devices take no memory")
        guard case .reply(left) = live.handle(Message(left, "command/reply", [0x7b, 0x7d]), at: 0) else {
            Issue.record("a reply of an unknown device is still a reply")
            return
        }
    }

    @Test("damaged messages are unreadable and empty ones ignored")
    mutating func unreadable() {
        for channel in ["state", "presence", "motion/accelerometer", "nonsense"] {
            guard case .unreadable(let topic, _) = live.handle(Message(left, channel, [0x7b]), at: 0) else {
                Issue.record("\(channel)")
                continue
            }
            #expect(topic == "lockstep/lab/left/\(channel)")
            #expect(live.handle(Message(left, channel, []), at: 0) == nil)
        }
    }

    @Test("devices and collectors are limited in number")
    mutating func limits() throws {
        live = LiveDevices(root: .standard, limits: LiveLimits(devices: 2, collectors: 1))
        for name in ["a", "b", "c"] { live.handle(.state(transition(.active), of: device(name)), at: 0) }
        #expect(live.devices.map(\.address.device.rawValue) == ["a", "b"])
        let health = CollectorHealth(status: .online, at: moment(0).wall).encoded()
        for name in ["one", "two"] { live.handle(Message(device("$collector"), name, health), at: 0) }
        #expect(live.collectors.count == 1)
        // A known collector is still followed.
        let stalled = CollectorHealth(status: .stalled, at: moment(1).wall).encoded()
        live.handle(Message(device("$collector"), "one", stalled), at: 1)
        #expect(live.collectors.values.map(\.status) == [.stalled])
        #expect(live.seed([DeviceSeed(address: device("d"), transition: transition(.active))]).isEmpty)
    }

    @Test("the rules of a collector stay known after its last will, and end with its next report")
    mutating func rulesAfterLastWill() throws {
        let report = CollectorHealth(
            status: .online, at: moment(0).wall, started: moment(0).wall, rules: ["hot": "x/air"],
            places: ["home": .circle(.init(latitude: 48.1, longitude: 11.5), radius: 80)])
        let will = CollectorHealth(status: .offline, at: moment(1).wall)
        live.handle(Message(device("$collector"), "one", report.encoded()), at: 0)
        for second in 1...2 {
            let change = live.handle(Message(device("$collector"), "one", will.encoded()), at: Double(second))
            guard case .collector(_, _, let health, _) = change else {
                Issue.record("\(String(describing: change))")
                return
            }
            #expect(health.status == .offline && health.started == nil)
            #expect(health.rules == report.rules && health.places == report.places)
            #expect(live.collectors.values.first == health)
        }
        let next = CollectorHealth(status: .online, at: moment(3).wall, started: moment(3).wall)
        live.handle(Message(device("$collector"), "one", next.encoded()), at: 3)
        #expect(live.collectors.values.first == next)
    }

    @Test("invented collectors and gateways take no memory")
    mutating func inventedSenders() {
        for number in 0..<100 {
            live.handle(Message(device("$collector"), "c\(number)", Array("no report".utf8)), at: 0)
            live.handle(Message(device("$gateway"), "g\(number)", Array("no report".utf8)), at: 0)
        }
        #expect(live.routes.isEmpty && live.collectors.isEmpty && live.gateways.isEmpty)
    }

    @Test("battery and position come from the newest samples that have them")
    mutating func batteryAndPosition() throws {
        var battery = SampleBlock(stream: .battery)
        battery.append(time: moment(1).wall, values: [0.5, 1])
        live.handle(.samples(battery, of: left), at: 1)
        #expect(live[left]?.battery == LiveBattery(level: 0.5, isCharging: true, at: moment(1).wall))
        battery = SampleBlock(stream: .battery)
        battery.append(time: moment(2).wall, values: [.nan, 0])
        live.handle(.samples(battery, of: left), at: 2)
        #expect(live[left]?.battery == LiveBattery(level: nil, isCharging: nil, at: moment(2).wall))

        var fixes = SampleBlock(stream: .location)
        fixes.append(time: moment(3).wall, values: [48, 11, 500, 5, .nan, 1.5, .nan, 3, .nan])
        fixes.append(time: moment(4).wall, values: [.nan, .nan, .nan, .nan, .nan, .nan, .nan, 1, .nan])
        live.handle(.samples(fixes, of: left), at: 4)
        let expected = LivePosition(
            latitude: 48, longitude: 11, accuracy: 5, altitude: 500, speed: 1.5, course: nil, at: moment(3).wall)
        #expect(live[left]?.position == expected)
        #expect(live[left]?[.location]?.newestTime == moment(4).wall)
    }

    private func isNews(_ change: LiveChange?) -> Bool? {
        if case .presence(_, _, let isNews) = change { isNews } else { nil }
    }
}
