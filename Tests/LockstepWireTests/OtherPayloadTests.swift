import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@Suite("Acknowledgement in JSON")
struct AcknowledgementJSONTests {
    @Test("an acknowledgement is encoded as specified and survives a round trip")
    func roundTrip() throws {
        let ack = Acknowledgement(
            epoch: epoch, through: 40, missing: [42...44, 50...50], highest: 60, holdTime: 98_000)
        #expect(
            text(AcknowledgementJSON.encode(ack))
                == #"{"epoch":"e1","through":40,"missing":[[42,44],[50,50]],"highest":60,"held":98000}"#)
        #expect(try AcknowledgementJSON.decode(Data(AcknowledgementJSON.encode(ack))) == ack)
    }

    @Test("'missing', 'highest' and 'held' are optional")
    func optionalMembers() throws {
        let ack = try AcknowledgementJSON.decode(data(#"{"epoch":"e1","through":3,"more":1}"#))
        #expect(ack == Acknowledgement(epoch: epoch, through: 3))
        #expect(ack.stored == SequenceSet([1...3]))
    }

    @Test("an invalid hold time is ignored", arguments: [-1, 9_007_199_254_740_992])
    func invalidHoldTime(_ held: Int64) throws {
        let ack = try AcknowledgementJSON.decode(data(#"{"epoch":"e1","through":3,"held":\#(held)}"#))
        #expect(ack == Acknowledgement(epoch: epoch, through: 3))
    }

    @Test(
        "an invalid acknowledgement is rejected with a reason",
        arguments: [
            (
                "[",
                "not valid JSON: no value at byte 1 (JSON has no NaN or Infinity: use null for an unknown value)"
            ),
            (#"{"through":1}"#, "'epoch' is missing"),
            (#"{"epoch":"e1"}"#, "'through' is missing"),
            (#"{"epoch":"e1","through":"1"}"#, "'through' is not a whole number"),
            (#"{"epoch":"e1","through":-1}"#, "'through' and 'highest' must be batch numbers"),
            (#"{"epoch":"e1","through":9007199254740992}"#, "'through' and 'highest' must be batch numbers"),
            (
                #"{"epoch":"e1","through":1,"highest":9007199254740992}"#,
                "'through' and 'highest' must be batch numbers"
            ),
            (
                #"{"epoch":"e1","through":1,"missing":[[2]]}"#,
                "'missing' must be a list of pairs [from, to] of batch numbers"
            ),
            (
                #"{"epoch":"e1","through":1,"missing":[[3,2]]}"#,
                "'missing' must be a list of pairs [from, to] of batch numbers"
            ),
            (
                #"{"epoch":"e1","through":1,"missing":[[0,2]]}"#,
                "'missing' must be a list of pairs [from, to] of batch numbers"
            ),
            (#"{"epoch":"e1","through":1,"missing":[3]}"#, "'missing[0]' is not an array"),
            (#"{"epoch":"e/1","through":1}"#, "'e/1' is not an epoch: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
        ])
    func rejected(_ payload: String, _ reason: String) {
        let error = #expect(throws: PayloadError.self) { try AcknowledgementJSON.decode(data(payload)) }
        #expect(error?.description == reason)
    }
}

@Suite("Life-cycle state in JSON")
struct StateJSONTests {
    @Test("a transition is encoded as specified and survives a round trip")
    func roundTrip() throws {
        let transition = LifecycleTransition(
            from: .resumed, to: .active, since: Timestamp(microseconds: 1_700_000_000_000_000), reason: "settled",
            seq: 7)
        #expect(
            text(StateJSON.encode(transition))
                == #"{"state":"active","since":1700000000000000,"previous":"resumed","reason":"settled","seq":7}"#)
        #expect(try StateJSON.decode(Data(StateJSON.encode(transition))) == transition)
    }

    @Test("a first transition has no previous state")
    func first() throws {
        let transition = LifecycleTransition(
            from: nil, to: .active, since: Timestamp(microseconds: 1), reason: "foreground", seq: 1)
        #expect(text(StateJSON.encode(transition)) == #"{"state":"active","since":1,"reason":"foreground","seq":1}"#)
        #expect(try StateJSON.decode(Data(StateJSON.encode(transition))) == transition)
    }

    @Test(
        "an invalid transition is rejected with a reason",
        arguments: [
            ("", "not valid JSON"), (#"{"since":1}"#, "'state' is missing"),
            (#"{"state":"active"}"#, "'since' is missing"),
            (#"{"state":"asleep","since":1}"#, "'state' has an unknown value"),
            (#"{"state":"active","since":"1"}"#, "'since' is not a whole number"),
            (#"{"state":"active","since":1,"seq":"x"}"#, "'seq' is not a whole number"),
        ])
    func rejected(_ payload: String, _ reason: String) {
        let error = #expect(throws: PayloadError.self) { try StateJSON.decode(data(payload)) }
        #expect(error?.description.hasPrefix(reason) == true)
    }
}

@Suite("Events of rules in JSON")
struct EventJSONTests {
    @Test("an event survives a round trip, up to the largest numbers", arguments: [1, (1 << 53) - 1] as [Int64])
    func roundTrip(_ number: Int64) throws {
        let time = Timestamp(microseconds: number)
        let event = StoredEvent(
            id: number,
            event: RuleEvent(
                key: .init(rule: "hot", device: nil, time: time), at: time, value: 1.5, text: "a", isLate: true,
                severity: .info),
            acknowledged: time)
        #expect(try EventJSON.decode(Data(EventJSON.encode(event)), of: nil) == event)
    }

    @Test("an event with a severity that is not known is a warning")
    func unknownSeverity() throws {
        let payload = data(#"{"id":1,"rule":"a","t":1,"at":1,"text":"a","severity":"fatal"}"#)
        #expect(try EventJSON.decode(payload, of: nil).severity == .warning)
    }

    @Test(
        "numbers that a browser cannot use are rejected",
        arguments: [
            (0, 1, 1, 1, "'id' is 0"), (1 << 53, 1, 1, 1, "'id' is 9007199254740992"), (1, -1, 1, 1, "'t' is -1"),
            (1, 1 << 53, 1, 1, "'t' is"), (1, 1, .max, 1, "'at' is"), (1, 1, 1, .min, "'acknowledged' is"),
        ] as [(Int64, Int64, Int64, Int64, String)])
    func rejected(_ id: Int64, _ t: Int64, _ at: Int64, _ acknowledged: Int64, _ reason: String) {
        let payload = #"{"id":\#(id),"rule":"a","t":\#(t),"at":\#(at),"text":"a","acknowledged":\#(acknowledged)}"#
        let error = #expect(throws: PayloadError.self) { try EventJSON.decode(data(payload), of: nil) }
        #expect(error?.description.hasPrefix(reason) == true)
        guard at == 1 else { return }
        #expect(throws: PayloadError.self) { try EventAcknowledgementJSON.decodeConfirmation(data(payload), of: nil) }
    }
}

@Suite("Collector health in JSON")
struct CollectorHealthTests {
    /// Returns a report with another member.
    private static func with(_ member: String) -> String {
        #"{"status":"online","at":1,"devices":0,"stored":0,"duplicates":0,"conflicts":0,"rejected":0,\#(member)}"#
    }

    @Test(
        "a health report is encoded as specified and survives a round trip",
        arguments: [.online, .stalled, .offline] as [CollectorHealth.Status])
    func roundTrip(_ status: CollectorHealth.Status) throws {
        let health = CollectorHealth(
            status: status, at: Timestamp(microseconds: 5), problem: "the disk is full", devices: 1, stored: 2,
            duplicates: 3, conflicts: 4, rejected: 5, dropped: 6, version: "0.1.0",
            started: Timestamp(microseconds: 7), memory: 8, memoryPeak: 9,
            store: CollectorHealth.Store(id: "a1", name: "/samples.db", host: "pi"), groups: ["lab", "yard"])
        #expect(
            text(health.encoded())
                == #"{"status":"\#(status.rawValue)","at":5,"problem":"the disk is full","devices":1,"stored":2,"#
                + #""duplicates":3,"conflicts":4,"rejected":5,"dropped":6,"version":"0.1.0","started":7,"#
                + #""memory":8,"memory_peak":9,"store":{"id":"a1","name":"/samples.db","host":"pi"},"#
                + #""groups":["lab","yard"]}"#)
        #expect(try CollectorHealth.decode(Data(health.encoded())) == health)
        var full = health
        full.space = CollectorHealth.Space(
            file: 1, log: 2, free: 3, limit: 4, fullAt: Timestamp(microseconds: 5), expired: 6, late: 7,
            refused: ["steps"], reader: 8, readerAge: 9)
        #expect(
            text(full.encoded()).hasSuffix(
                #","space":{"file":1,"log":2,"free":3,"limit":4,"full_at":5,"expired":6,"late":7,"#
                    + #""refused":["steps"],"reader":8,"reader_age":9}}"#))
        full.rules = ["low": "pressure", "high": "x/air"]
        #expect(text(full.encoded()).hasSuffix(#","rules":{"high":"x/air","low":"pressure"}}"#))
        full.places = [
            "home": .circle(.init(latitude: 48.1, longitude: -11.5), radius: 100),
            "yard": .polygon([
                .init(latitude: 1, longitude: 1), .init(latitude: 1, longitude: 2), .init(latitude: 2, longitude: 2),
            ]),
        ]
        #expect(
            text(full.encoded()).hasSuffix(
                #","places":{"home":{"center":[48.1,-11.5],"radius":100},"#
                    + #""yard":{"polygon":[[1.0,1.0],[1.0,2.0],[2.0,2.0]]}}}"#))
        #expect(try CollectorHealth.decode(Data(full.encoded())) == full)
        var minimal = health
        minimal.problem = nil
        // Older collectors do not report these members.
        minimal.dropped = nil
        minimal.version = nil
        minimal.started = nil
        minimal.memory = nil
        minimal.memoryPeak = nil
        minimal.store = nil
        minimal.groups = nil
        #expect(try CollectorHealth.decode(Data(minimal.encoded())) == minimal)
    }

    @Test(
        "an invalid report is rejected with a reason",
        arguments: [
            ("nope", "not valid JSON"), ("{}", "'status' is missing"),
            (#"{"status":"fine"}"#, "'status' has an unknown value"),
            (#"{"status":"online","at":1,"devices":"x"}"#, "'devices' is not a whole number"),
            (Self.with(#""places":{"a":{"center":[91,0],"radius":1}}"#), "'places.a.center' is not a latitude"),
            (Self.with(#""places":{"a":{"center":[1,0],"radius":0}}"#), "'places.a.radius' is not above 0"),
            (Self.with(#""places":{"a":{"polygon":[[1,1],[2,2]]}}"#), "'places.a.polygon' has less than three"),
        ])
    func rejected(_ payload: String, _ reason: String) {
        let error = #expect(throws: PayloadError.self) { try CollectorHealth.decode(data(payload)) }
        #expect(error?.description.hasPrefix(reason) == true)
    }
}

@Suite("Gateway health")
struct GatewayHealthTests {
    @Test("figures of Sparkplug are read as they were written, and may be absent")
    func sparkplug() throws {
        var health = GatewayHealth(status: .online, at: Timestamp(microseconds: 1), devices: 2)
        #expect(try GatewayHealth.decode(Data(health.encoded())) == health)
        health.refusedLogins = 7
        health.leftOut = 8
        health.sparkplug = GatewayHealth.Sparkplug(
            connected: true, nodes: 2, devices: 5, messages: 900, missing: 3, rebirths: 4, unmapped: 1)
        #expect(try GatewayHealth.decode(Data(health.encoded())) == health)
    }
}
