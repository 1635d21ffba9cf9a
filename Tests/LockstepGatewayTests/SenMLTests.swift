import LockstepModel
import Testing

@testable import LockstepGateway

@Suite("SenML")
struct SenMLTests {
    private var adapter: SenMLAdapter {
        get throws {
            let room = try SensorStream(
                declaring: "x/room",
                columns: [
                    try .init(declaring: "temperature", kind: .real, unit: "°C", isRequired: false),
                    try .init(declaring: "humidity", kind: .real, unit: "%", isRequired: false),
                    try .init(declaring: "open", kind: .integer, isRequired: false),
                    try .init(declaring: "door", kind: .choice(["shut", "ajar"]), isRequired: false),
                ])
            let names = ["temperature", "humidity", "open", "door"]
            return SenMLAdapter(
                targets: Dictionary(uniqueKeysWithValues: names.map { ($0, SenMLTarget("x/room.\($0)")) })
                    .compactMapValues { $0 },
                catalog: try StreamCatalog(declared: [room]))
        }
    }

    @Test("base fields apply to the following records, and records of one time are one sample")
    func baseFields() throws {
        let translation = try adapter.translate(
            "senml",
            #"""
            [{"bn":"urn:dev:ow:10e2073a01080063:","bt":1795575000,"bu":"Cel","n":"temperature","v":23.1},
             {"n":"humidity","u":"%RH","v":67},
             {"n":"temperature","t":60,"v":24},
             {"n":"open","u":"/","t":60,"vb":true},{"n":"door","t":60,"vs":"ajar"}]
            """#)
        let report = try #require(translation.reports.first)
        #expect(translation.reports.count == 1)
        #expect(report.sender.parts == ["urn:dev:ow:10e2073a01080063"])
        let rooms = translation.readings("x/room")
        #expect(rooms.map(\.time) == [1_795_575_000_000_000, 1_795_575_060_000_000])
        #expect(rooms[0].number("temperature") == 23.1)
        #expect(rooms[0].number("humidity") == 67)
        #expect(rooms[1].number("temperature") == 24)
        #expect(rooms[1].number("open") == 1)
        #expect(rooms[1].word("door") == "ajar")
    }

    @Test("times below 2²⁸ are relative to the arrival, and a pack without time was measured then")
    func relativeTime() throws {
        let text = #"[{"bn":"a/","n":"temperature","u":"K","v":273.15},{"n":"temperature","t":-5.5,"v":1}]"#
        let rooms = try adapter.translate("senml", text).readings("x/room")
        #expect(rooms.map(\.time) == [receipt.microseconds, receipt.microseconds - 5_500_000])
        #expect(rooms[0].number("temperature") == 0, "273.15 K are 0 °C")
        let limit = 1 << 28
        let absolute = try adapter.translate("senml", #"[{"n":"a:temperature","t":\#(limit),"v":1}]"#)
        #expect(absolute.readings("x/room").first?.time == Int64(limit) * 1_000_000)
    }

    @Test("units are converted to those of the columns, and unknown ones left out with a reason")
    func units() throws {
        let text = #"""
            [{"bn":"a:","n":"pressure","u":"Pa","v":101325},{"n":"lat","u":"lat","v":51.5},{"n":"lon","u":"lon","v":-0.1},
             {"n":"battery","u":"%EL","v":42},{"n":"temperature","u":"V","v":1},{"n":"unwanted","u":"V","v":1}]
            """#
        let translation = try adapter.translate("senml", text)
        #expect(translation.readings("pressure").first?.number("pressure") == 1013.25)
        #expect(translation.readings("location").first?.number("lon") == -0.1)
        #expect(translation.readings("battery").first?.number("level") == 0.42)
        #expect(translation.readings("battery").first?.word("state") == "unknown")
        #expect(translation.reports.first?.omissions.count == 2, "a wrong unit, and a measurement without a column")
    }

    @Test(
        "secondary units and percentages are converted without rounding",
        arguments: [
            (57, "/100", "%", 57), (0.5, "/", "%", 50), (57, "%RH", "%", 57), (36, "km/h", "m/s", 10),
            (42, "%EL", "", 0.42), (1, "kWh", "Wh", 1000), (12, "mm/h", "mm/h", 12), (1013.25, "hPa", "kPa", 101.325),
            (9.80665, "m/s2", "g", 1), (20, "Cel", "K", 293.15), (30, "dBm", "dBW", 0), (180, "deg", "rad", .pi),
            (7, "count", "", 7), (400, "ppm", "ppm", 400), (1, "MB/s", "Mbit/s", 8),
        ] as [(Double, String, String, Double)])
    func conversions(_ number: Double, _ unit: String, _ target: String, _ result: Double) {
        #expect(SenMLUnit.convert(number, from: unit, to: target) == result)
        #expect(SenMLUnit.convert(number, from: "cd", to: target) == nil)
    }

    @Test("a version is the sum of its features, of which secondary units are known", arguments: [5, 10, 26])
    func version(_ version: Int) throws {
        let text = #"[{"bver":\#(version),"n":"a:humidity","u":"/100","v":45}]"#
        #expect(try adapter.translate("senml", text).readings("x/room").first?.number("humidity") == 45)
        let higher = #"[{"bver":\#(version + 32),"n":"a:humidity","u":"/100","v":45}]"#
        #expect(try adapter.refusal("senml", higher) == .malformed)
    }

    @Test("records without a name of their own are placed by their unit, as in RFC 8428, and others are reported")
    func byUnit() throws {
        let humidity = try SensorStream(
            declaring: "x/senml/humidity",
            columns: [try .init(declaring: "value", kind: .real, unit: "%", isRequired: true)])
        let adapter = SenMLAdapter(catalog: try StreamCatalog(declared: [humidity]))
        let name = "urn:dev:ow:10e2073a01080063"
        let text = #"""
            [{"bn":"\#(name)","bt":1.320067464e+09,"bu":"%RH","v":20},
             {"u":"lon","v":24.30621},{"u":"lat","v":60.07965},{"u":"%EL","t":150,"v":98}]
            """#
        let tracker = try adapter.translate("senml", text)
        #expect(tracker.reports.map(\.sender.parts) == [[name]] && tracker.reports[0].omissions.isEmpty)
        #expect(tracker.readings("x/senml/humidity").first?.number("value") == 20)
        #expect(tracker.readings("location").first?.number("lat") == 60.07965)
        #expect(tracker.readings("location").first?.number("lon") == 24.30621)
        #expect(tracker.readings("battery").first?.number("level") == 0.98)
        // A name below the device is not part of its name.
        let below = try adapter.translate("senml", #"[{"n":"\#(name):east","u":"%RH","v":20}]"#)
        #expect(below.reports.map(\.sender.parts) == [[name]])
        // What maps to nothing is refused, with what to do.
        #expect(adapter.refusal("senml", #"[{"n":"\#(name)","u":"Cel","v":23.1}]"#) == .malformed)
        let named = SenMLAdapter(
            targets: ["Cel": try #require(SenMLTarget("x/senml/humidity.value"))],
            catalog: try StreamCatalog(declared: [humidity]))
        #expect(named.refusal("senml", #"[{"n":"\#(name)","u":"V","v":23.1},{"n":"x:y","vd":""}]"#) == .malformed)
        #expect(named.refusal("senml", #"[{"n":"\#(name)","s":23.1}]"#) == .malformed)
    }

    @Test(
        "a record that cannot be read does not cost the others",
        arguments: [
            #""v":NaN"#, #""v":null"#, #""v":"unavailable""#, #""vb":1"#, #""v":1,"n":"a b""#, #""v":1,"t":"now""#,
        ])
    func unreadableRecord(_ fields: String) throws {
        let text = #"[{"bn":"a:","n":"temperature","v":21},{"n":"humidity",\#(fields)},{"n":"open","v":1}]"#
        let report = try #require(try adapter.translate("senml", text).reports.first)
        #expect(report.readings.map { $0.values.map(\.column) } == [["temperature", "open"]])
        #expect(report.omissions.count == 1)
    }

    @Test("a position out of range is left out, and a pack with nothing else is refused")
    func outside() throws {
        let position = #"{"bn":"a/","n":"lat","u":"lat","v":91},{"n":"lon","u":"lon","v":8}"#
        let error = #expect(throws: Refusal.self) { try adapter.translate("senml", "[\(position)]") }
        #expect(error?.description == "a position is out of range")
        let rest = try adapter.translate("senml", #"[\#(position),{"n":"temperature","u":"Cel","v":20}]"#)
        #expect(rest.reports.flatMap(\.readings).map(\.stream) == ["x/room"])
        #expect(rest.reports.flatMap(\.omissions) == ["a position is out of range"])
    }

    @Test("a number that is not finite costs only its record in CBOR, too")
    func notFinite() throws {
        var bytes = Self.definite
        let number = try #require(bytes.firstIndex(of: 0xf9))
        bytes.replaceSubrange(number + 1...number + 2, with: [0x7e, 0x00])
        let report = try #require(try translate(bytes).reports.first)
        #expect(report.readings.map { $0.values.map(\.column) } == [["humidity"]])
        #expect(report.omissions == ["'v' of 'a:temperature' is 'nan', which is no number"])
    }

    @Test("a base time in ms is refused with advice")
    func timeInMilliseconds() throws {
        let adapter = try adapter
        let refusal = #expect(throws: Refusal.self) {
            try adapter.translate("senml", #"[{"bn":"a:","bt":1795575600000,"n":"temperature","v":21}]"#)
        }
        #expect(
            refusal?.description
                == "'bt' is in seconds, but its value is a plausible time in ms: divide it by 1000")
    }

    @Test("a unit gives its column to one name of a device, and the others are left out")
    func sharedUnit() throws {
        let text = #"[{"bn":"a:","bu":"hPa","n":"t1","v":21},{"n":"t2","v":22},{"n":"t1","t":-1,"v":20}]"#
        let shared = SenMLAdapter(targets: ["hPa": try #require(SenMLTarget("pressure.pressure"))])
        let report = try #require(try shared.translate("senml", text).reports.first)
        #expect(report.readings.map { $0.number("pressure") } == [21, 20])
        #expect(report.omissions.count == 1 && report.omissions[0].hasPrefix("'a:t2' has the unit of 'a:t1'"))
    }

    @Test("base values are added, and a topic below the setting names the device")
    func baseValueAndTopic() throws {
        let text = #"[{"bn":"a/","bv":20},{"n":"temperature","v":1.5},{"bn":"b/","n":"temperature","v":2}]"#
        let translation = try adapter.translate("senml", text)
        #expect(translation.reports.map(\.sender.parts) == [["a"], ["b"]])
        #expect(translation.readings("x/room").map { $0.number("temperature") } == [21.5, 22])
        let named = try adapter.translate("senml/attic", text)
        #expect(named.reports.map(\.sender.parts) == [["attic"]])
        #expect(named.readings("x/room").count == 2, "two values of one column and time are two samples")
    }

    /// [{-2: "a:", -3: 1795575000, 0: "temperature", 1: "Cel", 2: 23.5}, {0: "humidity", 6: 1, 2: 4([-1, 675])}]
    private static let definite: [UInt8] =
        [0x82, 0xa5, 0x21, 0x62, 0x61, 0x3a, 0x22, 0x1a, 0x6b, 0x06, 0x4c, 0xd8, 0x00, 0x6b] + Array("temperature".utf8)
        + [0x01, 0x63] + Array("Cel".utf8) + [0x02, 0xf9, 0x4d, 0xe0, 0xa3, 0x00, 0x68] + Array("humidity".utf8)
        + [0x06, 0x01, 0x02, 0xc4, 0x82, 0x20, 0x19, 0x02, 0xa3]

    private func translate(_ bytes: [UInt8]) throws -> Translation {
        try adapter.translate(ForeignMessage(origin: .topic("senml"), payload: bytes, receivedAt: receipt))
    }

    @Test("CBOR is read like JSON, with decimal fractions")
    func cbor() throws {
        let rooms = try translate(Self.definite).readings("x/room")
        #expect(rooms.map(\.time) == [1_795_575_000_000_000, 1_795_575_001_000_000])
        #expect(rooms.first?.number("temperature") == 23.5)
        #expect(rooms.last?.number("humidity") == 67.5)
    }

    @Test("CBOR with indefinite lengths is read")
    func indefinite() throws {
        var bytes = Self.definite
        bytes[0] = 0x9f
        bytes[1] = 0xbf
        let end = try #require(bytes.firstIndex(of: 0xa3))
        bytes.insert(0xff, at: end)
        #expect(try translate(bytes + [0xff]) == translate(Self.definite))
    }

    @Test("damaged CBOR is refused at every length")
    func truncated() {
        for count in 1..<Self.definite.count {
            #expect(throws: Refusal.self, "\(count)") { try translate(Array(Self.definite.prefix(count))) }
        }
        for bytes: [UInt8] in [
            [0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Array(repeating: 0x81, count: 100_000), [0x80],
            [0x81, 0xa1, 0x02, 0xf9, 0x7e, 0x00], Self.definite + [0],
        ] { #expect(throws: Refusal.self) { try translate(bytes) } }
    }

    @Test(
        "invalid packs are refused",
        arguments: [
            "{}", "[]", "[1]", "[", #"[{"n":"temperature","v":"1"}]"#, #"[{"n":5,"v":1}]"#, #"[{"v":1}]"#,
            #"[{"n":"a temperature","v":1}]"#, #"[{"n":"-a:temperature","v":1}]"#, #"[{"bver":11,"n":"a:b","v":1}]"#,
            #"[{"n":"a:temperature","v":1,"must_":1}]"#, #"[{"n":"a:temperature","t":"now","v":1}]"#,
            #"[{"n":"a:temperature","bt":1e300,"v":1}]"#, #"[{"n":"a:lat","u":"lat","v":91}]"#,
            #"[{"n":"a:temperature","vb":1}]"#,
        ])
    func invalid(_ text: String) throws { #expect(try adapter.refusal("senml", text) == .malformed) }
}
