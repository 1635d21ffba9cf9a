import LockstepModel
import LockstepWire
import Testing

@Suite("Topics")
struct TopicTests {
    private let address = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "pi-1"))

    private static let channels: [(Channel, String)] =
        SensorStream.builtIn.map { (.stream($0), $0.name) } + [
            (.presence, "presence"), (.state, "state"), (.ack, "ack"), (.command, "command"),
            (.commandReply, "command/reply"), (.eventAcknowledge, "event/acknowledge"),
            (.eventAcknowledged, "event/acknowledged"), (.forget, "forget"), (.forgotten, "forgotten"),
            (.delete, "delete"),
            (.clockPing, "clock/ping"), (.clockPong, "clock/pong"),
        ]

    @Test("a topic of a device's channel survives a round trip", arguments: channels)
    func roundTrip(_ channel: Channel, _ name: String) throws {
        #expect(TopicRoot.standard.topic(address, channel) == "lockstep/lab/pi-1/\(name)")
        #expect(try TopicRoot.standard.parse("lockstep/lab/pi-1/\(name)") == .device(address, channel))
        #expect(Channel(name: name) == channel)
    }

    @Test("a root may have several levels", arguments: ["x", "site/floor 2", "a/b/c/d", "ünï/€"])
    func roots(_ text: String) throws {
        let root = try TopicRoot(text)
        #expect(root.topic(address, .presence) == "\(text)/lab/pi-1/presence")
        #expect(try root.parse("\(text)/lab/pi-1/presence") == .device(address, .presence))
        #expect(root.filter(group: nil) == "\(text)/#")
        #expect(root.filter(group: address.group) == "\(text)/lab/#")
        #expect(root.filter(group: nil, channel: .stream(.steps)) == "\(text)/+/+/steps")
        #expect(root.filter(group: address.group, channel: .ack) == "\(text)/lab/+/ack")
        #expect(root.description == text)
    }

    @Test("a topic of a collector survives a round trip")
    func collectors() throws {
        let id = CollectorID(unchecked: "main")
        let topic = TopicRoot.standard.topic(group: address.group, collector: id)
        #expect(topic == "lockstep/lab/$collector/main")
        #expect(try TopicRoot.standard.parse(topic) == .collector(address.group, id))
        for channel: Channel in [.event, .eventAcknowledge, .eventAcknowledged] {
            let topic = TopicRoot.standard.topic(group: address.group, collector: id, channel)
            #expect(topic == "lockstep/lab/$collector/main/\(channel.name)")
            #expect(try TopicRoot.standard.parse(topic) == .collectorEvent(address.group, id, channel))
        }
        #expect(throws: TopicError.self) { try TopicRoot.standard.parse("lockstep/lab/$collector/main/state") }
        let gateway = TopicRoot.standard.topic(group: address.group, gateway: address.device)
        #expect(gateway == "lockstep/lab/$gateway/\(address.device)")
        #expect(try TopicRoot.standard.parse(gateway) == .gateway(address.group, address.device))
    }

    @Test(
        "an empty or too long root, and a root with wildcards, empty levels or a leading $, is rejected",
        arguments: [
            "", "/", "a/", "/a", "a//b", "+", "a/#", "a/+/b", "$SYS", "a\0b", String(repeating: "x", count: 257),
        ])
    func invalidRoots(_ text: String) {
        let error = #expect(throws: TopicError.self) { try TopicRoot(text) }
        #expect(
            error?.description
                == "'\(text)' is not a valid topic root: use one or more levels without +, # and empty levels")
    }

    private static let advice =
        ": use a stream such as 'motion/accelerometer'; streams of your own begin with 'x/' and must be declared in the "
        + "settings"

    @Test(
        "an invalid topic is rejected with a reason",
        arguments: [
            ("other/lab/pi/steps", "the topic is not below 'lockstep/'"),
            ("lockstepper/lab/pi/steps", "the topic is not below 'lockstep/'"),
            ("Lockstep/lab/pi/steps", "the topic is not below 'lockstep/'"),
            ("lockstep", "the topic is not below 'lockstep/'"),
            ("", "the topic is not below 'lockstep/'"),
            ("lockstep/", "the topic does not have the form {root}/{group}/{device}/{channel}"),
            ("lockstep/lab/pi", "the topic does not have the form {root}/{group}/{device}/{channel}"),
            ("lockstep/lab/pi/", "'' is not a channel\(Self.advice)"),
            ("lockstep/lab/pi/co2", "'co2' is not a channel\(Self.advice)"),
            ("lockstep/lab/a/b/steps", "'b/steps' is not a channel: a device id cannot contain '/'"),
            (
                "lockstep/lab/pi/accelerometer",
                "'accelerometer' is not a channel: did you mean 'motion/accelerometer'?"
            ),
            ("lockstep/lab/pi/steps/", "'steps/' is not a channel\(Self.advice)"),
            ("lockstep/lab//steps", "'' is not a device id: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
            ("lockstep//pi/steps", "'' is not a group: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
            ("lockstep/la b/pi/steps", "'la b' is not a group: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
            ("lockstep/lab/$SYS/steps", "'$SYS' is not a device id: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
            ("lockstep/lab/$collector/a/b", "'a/b' is not a collector id: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
        ])
    func rejected(_ topic: String, _ reason: String) {
        let error = #expect(throws: TopicError.self) { try TopicRoot.standard.parse(topic) }
        #expect(error?.description == reason)
    }

    @Test("a topic that is not below a root of several levels is rejected")
    func nestedRoots() throws {
        let error = #expect(throws: TopicError.self) { try TopicRoot("a/b").parse("a/lab/pi/steps") }
        #expect(error?.description == "the topic is not below 'a/b/'")
    }
}
