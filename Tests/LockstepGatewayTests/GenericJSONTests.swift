import LockstepGateway
import LockstepModel
import Testing

@Suite("Generic JSON")
struct GenericJSONTests {
    private func pointer(_ text: String) throws -> JSONPointer { try #require(JSONPointer(text)) }

    @Test("pointers follow RFC 6901")
    func pointers() throws {
        let document = try ForeignJSON.parse(
            Array(#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8,"o":{"p":[{"q":9}]}}"#.utf8))
        #expect(try pointer("").value(in: document) == document)
        #expect(try pointer("/foo/0").value(in: document) == .string("bar"))
        #expect(try pointer("/").value(in: document) == .integer(0))
        #expect(try pointer("/a~1b").value(in: document) == .integer(1))
        #expect(try pointer("/m~0n").value(in: document) == .integer(8))
        #expect(try pointer("/o/p/0/q").value(in: document) == .integer(9))
        for missing in ["/foo/2", "/foo/-1", "/foo/00", "/x", "/foo/0/x"] {
            #expect(try pointer(missing).value(in: document) == nil, "\(missing)")
        }
        for invalid in ["foo", "/a~2", "/a~"] { #expect(JSONPointer(invalid) == nil, "\(invalid)") }
    }

    private func rule() throws -> JSONRule {
        JSONRule(
            topic: "site/+/climate/#", device: "{1}-{2}", stream: "pressure", time: try pointer("/ts"),
            timeUnit: .milliseconds,
            columns: ["pressure": .init(path: try pointer("/p/value"), factor: 0.01, offset: 1)])
    }

    @Test("a rule gives the sender from the topic, the time and the converted columns")
    func translation() throws {
        let translation = try GenericJSONAdapter([rule()]).translate(
            "site/north/climate/roof/3", #"{"ts":1795575590123,"p":{"value":101325},"other":true}"#)
        let report = try #require(translation.reports.first)
        #expect(report.sender.description == "json/north-roof/3")
        #expect(report.readings.first?.time == 1_795_575_590_123_000)
        #expect(report.readings.first?.number("pressure") == 1014.25)
    }

    @Test(
        "times are read in each unit",
        arguments: [
            (TimeUnit.seconds, "1.000001", Int64(1_000_001)), (.seconds, "1795575590", 1_795_575_590_000_000),
            (.milliseconds, "1500", 1_500_000), (.microseconds, "1500", 1500),
            (.nanoseconds, "1795575590123456500", 1_795_575_590_123_457),
            (.iso, #""2026-11-25T03:00:00.5Z""#, 1_795_575_600_500_000),
            (.iso, #""2026-11-25T04:00:00+01:00""#, 1_795_575_600_000_000),
            (.iso, #""2026-11-25T04:00:00,5+01""#, 1_795_575_600_500_000),
            (.iso, #""20261125T030000Z""#, 1_795_575_600_000_000),
            (.seconds, #""1795575590.25""#, 1_795_575_590_250_000), (.seconds, "1795575590.25", 1_795_575_590_250_000),
            (.milliseconds, #""1795575590123""#, 1_795_575_590_123_000),
            (.milliseconds, "1795575590123.456", 1_795_575_590_123_456),
            (.milliseconds, "1.795575590123e12", 1_795_575_590_123_000),
            (.microseconds, "1795575590123456.5", 1_795_575_590_123_457),
            (.nanoseconds, #""1795575590123456500""#, 1_795_575_590_123_457),
            (.milliseconds, #""2026-11-25T03:00:00Z""#, 1_795_575_600_000_000),
        ])
    func times(_ unit: TimeUnit, _ text: String, _ expected: Int64) throws {
        var rule = try rule()
        rule.topic = "t"
        rule.device = "d"
        rule.timeUnit = unit
        let translation = try GenericJSONAdapter([rule]).translate("t", #"{"ts":\#(text),"p":{"value":0}}"#)
        #expect(translation.reports.first?.readings.first?.time == expected)
    }

    @Test("without a time the arrival counts, and an array has one sample for each item")
    func arrivalAndItems() throws {
        let arrival = JSONRule(
            topic: "t", device: "d", stream: "battery",
            columns: ["level": .init(path: try pointer("/level")), "state": .init(path: try pointer("/state"))])
        let one = try GenericJSONAdapter([arrival]).translate("t", #"{"level":0.5,"state":"full"}"#)
        #expect(one.reports.first?.readings.first?.time == receipt.microseconds)
        #expect(one.reports.first?.readings.first?.word("state") == "full")
        let items = JSONRule(
            topic: "t", device: "d", stream: "pressure", items: try pointer("/readings"), time: try pointer("/t"),
            columns: ["pressure": .init(path: try pointer("/v"))])
        let many = try GenericJSONAdapter([items]).translate(
            "t", #"{"readings":[{"t":1,"v":2},{"t":2},{"t":3,"v":4},{"t":"x","v":5}]}"#)
        #expect(many.reports.first?.readings.map(\.time) == [1_000_000, 3_000_000])
        #expect(many.reports.first?.omissions.count == 2)
    }

    @Test(
        "a time in another unit is refused with advice",
        arguments: [
            (TimeUnit.milliseconds, "1795575590", "s"), (.seconds, "1795575590123", "ms"),
            (.seconds, #""1795575590123""#, "ms"), (.microseconds, "1795575590123", "ms"),
            (.nanoseconds, "1795575590123456", "us"), (.iso, "1795575590", "s"),
        ])
    func otherUnit(_ unit: TimeUnit, _ value: String, _ advice: String) throws {
        var rule = try rule()
        (rule.topic, rule.device, rule.timeUnit) = ("t", "d", unit)
        let error = #expect(throws: Refusal.self) {
            try GenericJSONAdapter([rule]).translate("t", #"{"ts":\#(value),"p":{"value":0}}"#)
        }
        #expect(error?.description.hasSuffix(": set 'time-unit: \(advice)'") == true, "\(error?.description ?? "")")
    }

    @Test("the reason for a refused time is true")
    func reasons() throws {
        let adapter = GenericJSONAdapter([try rule()])
        for (value, reason) in [
            ("null", "the time at '/ts' is missing"), (#""now""#, "the time at '/ts' is 'now', which is no time"),
            ("1e30", "the time at '/ts' is 1e+30, which is out of range in ms"),
            ("true", "the time at '/ts' is true, which is no time"),
        ] {
            let error = #expect(throws: Refusal.self) {
                try adapter.translate("site/a/climate/b", #"{"ts":\#(value),"p":{"value":0}}"#)
            }
            #expect(error?.description == reason)
        }
    }

    @Test("a value that cannot be read costs only its column, and numbers as texts are read")
    func partialValues() throws {
        let battery = JSONRule(
            topic: "t", device: "d", stream: "battery",
            columns: ["level": .init(path: try pointer("/l"), factor: 0.01), "state": .init(path: try pointer("/s"))])
        let adapter = GenericJSONAdapter([battery])
        let text = try adapter.translate("t", #"{"l":" 50 ","s":"full"}"#)
        #expect(text.reports.first?.readings.first?.number("level") == 0.5)
        #expect(text.reports.first?.readings.first?.word("state") == "full")
        #expect(text.reports.first?.omissions.isEmpty == true)
        for bad in [#""unavailable""#, #""""#, "NaN", "-Infinity", "1e999", "[1]", #""1,5""#, #""0x10""#] {
            let partial = try adapter.translate("t", #"{"l":\#(bad),"s":"full"}"#).reports.first
            #expect(partial?.readings.first?.number("level") == nil)
            #expect(partial?.readings.first?.word("state") == "full")
            #expect(partial?.omissions.count == 1, "\(bad)")
        }
    }

    @Test("items without a time use that of the object around them, and the last one counts")
    func timeOfParent() throws {
        let rule = JSONRule(
            topic: "t", device: "d", stream: "pressure", items: try pointer("/data/list"), time: try pointer("/t"),
            columns: ["pressure": .init(path: try pointer("/v"))])
        func report(_ text: String) throws -> ForeignReport? {
            try GenericJSONAdapter([rule]).translate("t", text).reports.first
        }
        let inner = try report(#"{"t":5,"data":{"t":7,"list":[{"v":1},{"t":9,"v":2},{"v":3}]}}"#)
        #expect(inner?.readings.map(\.time) == [7_000_000, 9_000_000])
        #expect(inner?.readings.map { $0.number("pressure") } == [3, 2])
        #expect(inner?.omissions.count == 1)
        #expect(try report(#"{"t":5,"data":{"list":[{"v":1}]}}"#)?.readings.first?.time == 5_000_000)
    }

    @Test("messages without time, columns or array are refused")
    func refused() throws {
        let adapter = GenericJSONAdapter([try rule()])
        let topic = "site/north/climate/roof"
        for text in [
            "", "{", "[]", #"{"ts":1}"#, #"{"p":{"value":1}}"#, #"{"ts":"now","p":{"value":1}}"#,
            #"{"ts":1,"p":{"value":[1]}}"#, #"{"ts":1,"p":{"value":"unavailable"}}"#, #"{"ts":1,"p":{"value":""}}"#,
            #"{"ts":1,"p":{"value":NaN}}"#,
            #"{"ts":9223372036854775807,"p":{"value":1}}"#,
        ] { #expect(adapter.refusal(topic, text) == (text.isEmpty ? nil : .malformed), "\(text)") }
    }
}
