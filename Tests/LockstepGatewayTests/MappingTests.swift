import LockstepGateway
import LockstepModel
import Testing

@Suite("Mapping and fitting")
struct MappingTests {
    private let phone = ForeignName("owntracks", ["alice", "phone"])

    @Test("an entry gives the address, and other senders are refused unless any is accepted")
    func entries() throws {
        let family = try DeviceMapping.address("family/alice")
        let mapping = DeviceMapping(entries: ["owntracks/alice/phone": family])
        #expect(try mapping.address(of: phone) == family)
        #expect(throws: Refusal.self) { try mapping.address(of: ForeignName("owntracks", ["eve", "phone"])) }
        var open = mapping
        open.acceptsAny = true
        #expect(try open.address(of: phone) == family)
        #expect(try open.address(of: ForeignName("owntracks", ["eve", "phone"])).description == "default/eve-phone")
    }

    @Test("characters that an id cannot contain are replaced, and a name that is too long is refused")
    func names() throws {
        let mapping = DeviceMapping(acceptsAny: true)
        #expect(try mapping.address(of: ForeignName("owntracks", ["Jü ", "a+#"])).description == "default/J__-a__")
        #expect(throws: Refusal.self) {
            try mapping.address(of: ForeignName("owntracks", [String(repeating: "a", count: 64), "b"]))
        }
        #expect(throws: Refusal.self) { try mapping.address(of: ForeignName("sensorlogger", [""])) }
    }

    @Test("a reading becomes a sample, with null for unknown values and without unknown columns")
    func fitting() throws {
        var reading = Reading("location", at: 5)
        reading.set("lat", 1)
        reading.set("colour", 7)
        let sample = try #require(try SampleFitter().sample(reading, at: receipt))
        #expect(sample.values.first == 1)
        let others = sample.values.dropFirst()
        #expect(others.filter { !$0.isNaN }.isEmpty)
        #expect(try SampleFitter().sample(Reading("x/unknown", at: 5), at: receipt) == nil)
    }

    @Test("an invalid value of a column that may be null costs only this value")
    func invalidValue() throws {
        let reading = Reading(
            "location", at: 1_795_575_600_000_000,
            [("lat", .number(50)), ("lon", .number(8)), ("fix", .number(2.5)), ("alt", .word("high"))])
        let sample = try #require(try SampleFitter().sample(reading, at: receipt))
        #expect(sample.values.prefix(2) == [50, 8] && sample.values.dropFirst(2).allSatisfy(\.isNaN))
        #expect(sample.omissions.count == 2)
        let nothing = Reading("location", at: 1_795_575_600_000_000, [("alt", .word("high"))])
        #expect(throws: Refusal.self) { try SampleFitter().sample(nothing, at: receipt) }
        let battery = Reading(
            "battery", at: 1_795_575_600_000_000, [("level", .number(80)), ("state", .word("full"))])
        let fitted = try #require(try SampleFitter().sample(battery, at: receipt))
        #expect(fitted.values[0].isNaN && fitted.omissions == ["'level' of battery is 80: it must be from 0 to 1"])
        let half = Reading("location", at: 1_795_575_600_000_000, [("lat", .number(91)), ("lon", .number(8))])
        #expect(throws: Refusal.self) { try SampleFitter().sample(half, at: receipt) }
    }

    @Test("north is 0°, also if its sender writes 360°")
    func north() throws {
        let time: Int64 = 1_795_575_600_000_000
        let location = Reading("location", at: time, [("course", .number(360)), ("alt", .number(360))])
        let sample = try #require(try SampleFitter().sample(location, at: receipt))
        #expect(sample.values.filter { !$0.isNaN } == [360, 0])
        let heading = Reading("heading", at: time, [("magnetic", .number(360)), ("true_north", .number(360))])
        #expect(try SampleFitter().sample(heading, at: receipt)?.values.prefix(2) == [0, 0])
    }

    @Test("samples without a required value, or with an implausible time, are refused")
    func implausible() {
        func kind(_ reading: Reading) -> Refusal.Kind? {
            do {
                _ = try SampleFitter().sample(reading, at: receipt)
                return nil
            } catch { return error.kind }
        }
        #expect(kind(Reading("pressure", at: 5)) == .malformed)
        #expect(kind(Reading("battery", at: 5, [("state", .word("lost"))])) == .malformed)
        let half: Int64 = 43_200_000_000
        #expect(kind(Reading("location", at: receipt.microseconds + half)) == nil)
        #expect(kind(Reading("location", at: receipt.microseconds + half + 1)) == .implausibleTime)
        #expect(kind(Reading("location", at: 0)) == .implausibleTime)
        #expect(kind(Reading("location", at: 1 << 53)) == .implausibleTime)
    }
}
