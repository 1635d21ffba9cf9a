import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@Suite("Declared streams on the wire")
struct DeclaredStreamTests {
    private let co2: SensorStream
    private let root: TopicRoot

    init() throws {
        co2 = try SensorStream(
            declaring: "x/co2",
            columns: [
                SensorStream.Column(declaring: "ppm", kind: .real, unit: "ppm"),
                SensorStream.Column(declaring: "state", kind: .choice(["ok", "warming up"]), isRequired: false),
            ])
        var root = TopicRoot.standard
        root.streams = try StreamCatalog(declared: [co2])
        self.root = root
    }

    @Test("a topic of a declared stream survives a round trip")
    func topic() throws {
        let address = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "pi"))
        let topic = root.topic(address, .stream(co2))
        #expect(topic == "lockstep/lab/pi/x/co2")
        #expect(try root.parse(topic) == .device(address, .stream(co2)))
        #expect(try root.parse("lockstep/lab/pi/steps") == .device(address, .stream(.steps)))
    }

    @Test("a topic of an undeclared stream is rejected with instructions to declare it")
    func undeclared() {
        let error = #expect(throws: TopicError.self) { try TopicRoot.standard.parse("lockstep/lab/pi/x/co2") }
        #expect(
            error?.description == "the stream 'x/co2' is not declared: declare its columns in the section 'streams' of "
                + "the settings file (option --config) and restart the program")
        #expect(throws: TopicError.self) { try root.parse("lockstep/lab/pi/x/co3") }
        #expect(throws: TopicError.self) { try root.parse("lockstep/lab/pi/x_co2") }
    }

    @Test("a batch survives a round trip", arguments: BatchEncoding.allCases)
    func batch(_ encoding: BatchEncoding) throws {
        let batch = Batch(
            position: nil,
            samples: SampleBlock(stream: co2, times: [1, 2, 3], columns: [[400.5, 401, 402], [0, .nan, 1]]))
        let decoded = try BatchEncoding.decode(Data(encoding.encode(batch)), stream: co2)
        #expect(decoded == batch)
    }

    @Test("a payload is checked against the declared columns")
    func checks() {
        #expect(rejection(data(#"{"t":1,"pmm":[400]}"#), stream: co2)?.description == "'ppm' is missing")
        #expect(rejection(data(#"{"t":1,"ppm":["a"]}"#), stream: co2)?.description == "'ppm[0]' is not a number")
        #expect(
            rejection(data(#"{"t":1,"ppm":[400],"state":["off"]}"#), stream: co2)?.description
                == #"'state' contains 'off'; valid words are ["ok", "warming up"]"#)
        #expect(rejection(data(#"{"t":1,"ppm":[400],"state":["warming up"]}"#), stream: co2) == nil)
    }

    @Test("a request may name a declared stream")
    func request() throws {
        let payload = data(#"{"rate":{"stream":"x/co2","hz":1,"lease_s":60}}"#)
        #expect(
            try RequestJSON.decode(payload, streams: root.streams).action
                == .lease(RateLease(stream: co2, rate: 1, duration: 60)))
        let error = #expect(throws: PayloadError.self) { try RequestJSON.decode(payload) }
        #expect(error?.description.hasPrefix("the stream 'x/co2' is not declared") == true)
    }

    @Test("a reply is decoded without the declaration")
    func reply() throws {
        let reply = AgentReply(outcome: .leased(stream: co2, rate: 1, until: nil))
        #expect(try ReplyJSON.decode(Data(ReplyJSON.encode(reply))) == reply)
    }
}
