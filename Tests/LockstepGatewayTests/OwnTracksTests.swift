import CSodium
import Foundation
import LockstepGateway
import LockstepModel
import Testing

@Suite("OwnTracks")
struct OwnTracksTests {
    private let adapter = OwnTracksAdapter()
    private let topic = "owntracks/alice/phone"

    @Test("a location becomes a location and a battery sample in Lockstep's units")
    func location() throws {
        let translation = try adapter.translate(
            topic,
            #"""
            {"_type":"location","BSSID":"b4:f2:e8:6a:aa:5f","SSID":"home","acc":5,"alt":154,"batt":53,"bs":2,"cog":271,
             "conn":"w","created_at":1795575590,"inregions":["home"],"inrids":["6da9cf"],"lat":52.0309834,"lon":-8.495,
             "m":1,"p":101.25,"t":"u","tid":"ap","topic":"owntracks/alice/phone","tst":1795575580,"vac":3,"vel":54}
            """#)
        let report = try #require(translation.reports.first)
        #expect(report.sender.description == "owntracks/alice/phone")
        #expect(report.writtenAt?.microseconds == 1_795_575_590_000_000)
        #expect(report.presence == ForeignPresence(.foreground, reason: "manual"))
        let location = try #require(translation.readings("location").first)
        #expect(location.time == 1_795_575_580_000_000)
        #expect(location.number("lat") == 52.0309834)
        #expect(location.number("lon") == -8.495)
        #expect(location.number("alt") == 154)
        #expect(location.number("hacc") == 5)
        #expect(location.number("vacc") == 3)
        #expect(location.number("speed") == 15, "54 km/h are 15 m/s")
        #expect(location.number("course") == 271)
        #expect(location.number("fix") == nil, "OwnTracks does not report the dimensions of the fix")
        let battery = try #require(translation.readings("battery").first)
        #expect(battery.number("level") == 0.53)
        #expect(battery.word("state") == "charging")
        #expect(translation.readings("pressure").first?.number("pressure") == 1012.5, "101.25 kPa are 1012.5 hPa")
        let circumstances = try #require(translation.readings("x/owntracks/report").first)
        #expect(circumstances.word("cause") == "manual")
        #expect(circumstances.word("conn") == "wifi")
        #expect(circumstances.number("regions") == 1)
    }

    @Test("each value has its own time: the position that of the fix, the others that of the message")
    func timesOfValues() throws {
        func translation(_ battery: Int, _ created: Int) throws -> Translation {
            try adapter.translate(
                topic,
                #"{"_type":"location","lat":1,"lon":2,"tst":1795570000,"created_at":\#(created),"batt":\#(battery),"p":100,"conn":"w","t":"p"}"#
            )
        }
        let reports = try [(80, 1_795_570_000), (60, 1_795_573_000), (12, 1_795_575_590)].map {
            try translation($0, $1)
        }
        #expect(
            reports.flatMap { $0.readings("location") }.map(\.time) == Array(repeating: 1_795_570_000_000_000, count: 3)
        )
        for stream in ["battery", "pressure", "x/owntracks/report"] {
            #expect(
                reports.flatMap { $0.readings(stream) }.map(\.time)
                    == [1_795_570_000_000_000, 1_795_573_000_000_000, 1_795_575_590_000_000], "\(stream)")
        }
        #expect(reports.last?.readings("battery").first?.number("level") == 0.12)
        #expect(
            reports.last?.reports.first?.writtenAt?.microseconds == 1_795_575_590_000_000, "live in spite of the fix")
        let event = try adapter.translate(
            topic, #"{"_type":"transition","event":"enter","tst":1795570000,"created_at":1795575590}"#)
        #expect(event.reports.first?.writtenAt?.microseconds == 1_795_575_590_000_000)
    }

    @Test("numbers as texts are read, and a part that cannot be read is left out with a reason")
    func texts() throws {
        let read = try #require(
            try adapter.translate(
                topic,
                #"{"_type":"location","lat":"48.1","lon":"11.5","tst":"1795575590","batt":"90","vel":"36","acc":"12"}"#
            ).reports.first)
        #expect(read.readings.map(\.stream) == ["location", "battery"] && read.omissions.isEmpty)
        #expect(read.readings[0].number("speed") == 10 && read.readings[0].number("hacc") == 12)
        #expect(read.readings[0].time == 1_795_575_590_000_000 && read.readings[1].number("level") == 0.9)
        let partial = try #require(
            try adapter.translate(
                topic,
                #"{"_type":"location","lat":1,"lon":2,"tst":3,"batt":"full","vel":"","acc":NaN,"cog":400,"conn":"x","created_at":"now","alt":true}"#
            ).reports.first)
        #expect(partial.readings.map(\.stream) == ["location"])
        #expect(partial.readings[0].values.map(\.column) == ["lat", "lon"])
        #expect(partial.omissions.count == 7)
        #expect(partial.omissions.contains("'batt' of the location is 'full', which is no number"))
        for (text, reason) in [
            (#""tst":"now""#, "'tst' of the location is 'now', which is no time"),
            (
                #""tst":1795575590123"#,
                "'tst' of the location is 1795575590123, which is no plausible time in s, but one in ms"
            ),
        ] {
            let error = #expect(throws: Refusal.self) {
                try adapter.translate(topic, #"{"_type":"location","lat":1,"lon":2,\#(text)}"#)
            }
            #expect(error?.description == reason)
        }
    }

    @Test(
        "a position that cannot be read does not cost the other values of the message",
        arguments: [
            (#""lat":null,"lon":1,"tst":1795575590"#, "'lat' of the location is missing"),
            (#""lat":91,"lon":1,"tst":1795575590"#, "'lat' of the location is 91, which is out of range"),
            (#""lat":1,"lon":1,"tst":"n/a""#, "'tst' of the location is 'n/a', which is no time"),
        ])
    func unreadablePosition(_ position: String, _ reason: String) throws {
        let report = try #require(
            try adapter.translate(
                topic,
                #"{"_type":"location",\#(position),"created_at":1795575600,"batt":12,"p":101,"conn":"w","inregions":"home"}"#
            ).reports.first)
        #expect(report.readings.map(\.stream) == ["battery", "pressure", "x/owntracks/report"])
        #expect(report.readings.allSatisfy { $0.time == 1_795_575_600_000_000 })
        #expect(report.presence != nil)
        #expect(Set(report.omissions) == [reason, "'inregions' of the location is 'home', which is no list"])
    }

    @Test("an item that cannot be read does not cost the rest of its list")
    func lists() throws {
        let places = try #require(
            try adapter.translate(
                topic,
                #"{"_type":"waypoints","waypoints":[{"lat":1,"lon":2,"tst":3},{"lat":null,"lon":null,"tst":4},5,{"lat":1,"lon":2,"tst":6,"rad":"x"}]}"#
            ).reports.first)
        #expect(places.readings.map(\.time) == [3_000_000, 6_000_000])
        #expect(places.omissions.count == 2)
        let messages = try #require(
            try adapter.translate(
                topic, #"[{"_type":"location","tst":1},{"_type":"location","lat":1,"lon":2,"tst":3}]"#
            )
            .reports.first)
        #expect(messages.readings.count == 1 && messages.omissions.count == 1)
        #expect(
            adapter.refusal(topic, #"{"_type":"waypoints","waypoints":[{"lat":null,"lon":null,"tst":4}]}"#)
                == .malformed)
    }

    @Test("running totals of a day have the time of their message, and the last one of a time counts")
    func runningTotals() throws {
        func steps(_ count: Int, _ told: Int, to: Int = 1_795_651_200) -> String {
            #"{"_type":"steps","tst":\#(told),"steps":\#(count),"from":1795564800,"to":\#(to)}"#
        }
        let totals = try adapter.translate(
            topic, "[\(steps(10, 1_795_570_000)),\(steps(20, 1_795_575_000)),\(steps(25, 1_795_575_000))]")
        #expect(totals.readings("x/owntracks/steps").map(\.time) == [1_795_570_000_000_000, 1_795_575_000_000_000])
        #expect(totals.readings("x/owntracks/steps").map { $0.number("steps") } == [10, 25])
        let past = try [(1000, 1_795_573_000), (1200, 1_795_574_000), (1500, 1_795_575_000)].flatMap {
            try adapter.translate(topic, steps($0, $1, to: 1_795_570_000)).readings("x/owntracks/steps")
        }
        #expect(past.map(\.time) == [1_795_573_000_000_000, 1_795_574_000_000_000, 1_795_575_000_000_000])
        #expect(past.map { $0.number("steps") } == [1000, 1200, 1500])
        #expect(past.allSatisfy { $0.number("to_time") == 1_795_570_000_000_000 })
        let untimed = #"{"_type":"steps","steps":5,"from":1795564800,"to":1795651200}"#
        #expect(try adapter.translate(topic, untimed).readings("x/owntracks/steps").first?.time == receipt.microseconds)
    }

    @Test("omitted and invalid optional members are unknown values")
    func unknownValues() throws {
        let translation = try adapter.translate(
            topic, #"{"_type":"location","lat":0,"lon":0,"tst":1,"acc":-1,"vac":-1,"vel":-1,"cog":-1,"batt":-1}"#)
        let location = try #require(translation.readings("location").first)
        #expect(location.values.map(\.column) == ["lat", "lon"])
        #expect(translation.readings("battery").isEmpty)
    }

    @Test(
        "the states of the battery have their own words",
        arguments: zip(0...3, ["unknown", "discharging", "charging", "full"]))
    func batteryState(_ code: Int, _ word: String) throws {
        let translation = try adapter.translate(
            topic, #"{"_type":"location","lat":0,"lon":0,"tst":1,"batt":100,"bs":\#(code)}"#)
        #expect(translation.readings("battery").first?.word("state") == word)
        #expect(translation.readings("battery").first?.number("level") == 1)
    }

    @Test("an lwt means background, unless the broker has retained it")
    func lastWill() throws {
        let lwt = #"{"_type":"lwt","tst":1795570000}"#
        #expect(
            try adapter.translate(topic, lwt).reports.first?.presence == ForeignPresence(.background, reason: "lwt"))
        #expect(try adapter.translate(topic, lwt, isRetained: true).reports.first?.presence == nil)
    }

    @Test("region transitions and steps keep their times")
    func events() throws {
        let transition = try adapter.translate(
            topic + "/event",
            #"{"_type":"transition","wtst":1795000000,"lat":52.1,"lon":8.5,"tst":1795575000,"acc":10,"tid":"ap","event":"leave","desc":"home","t":"c"}"#
        )
        let reading = try #require(transition.readings("x/owntracks/transition").first)
        #expect(reading.time == 1_795_575_000_000_000)
        #expect(reading.word("event") == "leave")
        #expect(reading.number("waypoint") == 1_795_000_000_000_000)
        let steps = try adapter.translate(
            topic + "/step",
            #"{"_type":"steps","tst":1795575600,"steps":1234,"from":1795500000,"to":1795575500,"distance":900}"#)
        let counted = try #require(steps.readings("x/owntracks/steps").first)
        #expect(counted.time == 1_795_575_600_000_000)
        #expect(counted.number("from_time") == 1_795_500_000_000_000)
        #expect(counted.number("to_time") == 1_795_575_500_000_000)
        #expect(counted.number("steps") == 1234)
        let unsupported = try adapter.translate(topic + "/step", #"{"_type":"steps","tst":1,"steps":-1}"#)
        #expect(unsupported.readings("x/owntracks/steps").isEmpty)
    }

    @Test("messages for others and of unknown types have nothing to store")
    func ignored() throws {
        #expect(try adapter.translate(topic + "/cmd", "not JSON").reports.isEmpty)
        #expect(try adapter.translate(topic, "").reports.isEmpty)
        let card = try adapter.translate(topic, #"{"_type":"card","name":"Alice","face":"aGk=","tid":"al"}"#)
        #expect(card.readings("location").isEmpty)
    }

    @Test(
        "malformed messages are refused",
        arguments: [
            "{", "[1]", "{}", #"{"_type":5}"#, #"{"_type":"location"}"#,
            #"{"_type":"location","lat":91,"lon":0,"tst":1}"#, #"{"_type":"location","lat":"north","lon":0,"tst":1}"#,
            #"{"_type":"location","lat":1,"lon":0}"#, #"{"_type":"location","lat":1,"lon":0,"tst":0}"#,
            #"{"_type":"location","lat":1,"lon":0,"tst":-5}"#, #"{"_type":"location","lat":1,"lon":0,"tst":1e300}"#,
            #"{"_type":"location","lat":1,"lon":0,"tst":9223372036854775807}"#,
            #"{"_type":"transition","event":"fly","tst":1}"#,
        ])
    func malformed(_ text: String) { #expect(adapter.refusal(topic, text) == .malformed) }

    @Test("user and device of a request come from parameters, headers or the message, and a login has priority")
    func requests() throws {
        let text = #"{"_type":"location","lat":1,"lon":2,"tst":3,"topic":"owntracks/eve/tablet"}"#
        func sender(_ facts: HTTPFacts) throws -> String? {
            try adapter.translate(
                ForeignMessage(origin: .request(facts), payload: Array(text.utf8), receivedAt: receipt)
            ).reports.first?.sender.description
        }
        #expect(try sender(HTTPFacts(path: "/owntracks")) == "owntracks/eve/tablet")
        let headers = ["x-limit-u": "bob", "x-limit-d": "watch"]
        #expect(try sender(HTTPFacts(path: "/owntracks", headers: headers)) == "owntracks/bob/watch")
        let query = ["u": "carol", "d": "car"]
        #expect(try sender(HTTPFacts(path: "/owntracks", query: query, headers: headers)) == "owntracks/carol/car")
        #expect(
            try sender(HTTPFacts(path: "/owntracks", query: query, headers: headers, user: "dave"))
                == "owntracks/dave/car")
    }

    @Test("a request that can never succeed is answered so that the app does not send it again")
    func answers() {
        let empty = Array("[]".utf8)
        #expect(adapter.answer(to: .accepted(RequestReceipt())).body == empty)
        #expect(adapter.answer(to: .refused(Refusal(.tooManyDevices, ""))).status == 503, "may be accepted later")
        for kind in Refusal.Kind.allCases where kind != .tooManyDevices {
            let refused = adapter.answer(to: .refused(Refusal(kind, "")))
            #expect(refused.status == 200)
            #expect(refused.body == empty)
        }
        #expect(adapter.answer(to: .unavailable).status == 503)
    }

    private func encrypted(_ text: String, secret: String) -> String {
        _ = sodium_init()
        let key = Array(secret.utf8) + Array(repeating: UInt8(0), count: 32 - secret.utf8.count)
        let nonce = (0..<24).map { UInt8($0) }
        var box = [UInt8](repeating: 0, count: text.utf8.count + 16)
        crypto_secretbox_easy(&box, Array(text.utf8), UInt64(text.utf8.count), nonce, key)
        return #"{"_type":"encrypted","data":"\#(Data(nonce + box).base64EncodedString())"}"#
    }

    @Test("encrypted messages are decrypted with the secret of their device, and plain ones refused")
    func encryption() throws {
        let adapter = OwnTracksAdapter(keys: try OwnTracksKeys(lines: "# keys\nalice/phone s3cret\nbob other one\n"))
        let plain = #"{"_type":"location","lat":1,"lon":2,"tst":3}"#
        let translation = try adapter.translate(topic, encrypted(plain, secret: "s3cret"))
        #expect(translation.readings("location").first?.number("lon") == 2)
        #expect(try adapter.translate("owntracks/bob/x", encrypted(plain, secret: "other one")).reports.count == 1)
        #expect(adapter.refusal(topic, encrypted(plain, secret: "wrong")) == .undecryptable)
        #expect(adapter.refusal(topic, plain) == .undecryptable)
        #expect(adapter.refusal("owntracks/carol/phone", encrypted(plain, secret: "s3cret")) == .undecryptable)
        #expect(adapter.refusal("owntracks/carol/phone", plain) == nil)
        #expect(adapter.refusal(topic, #"{"_type":"encrypted","data":"%%%"}"#) == .malformed)
        #expect(adapter.refusal(topic, #"{"_type":"encrypted","data":""}"#) == .undecryptable)
        #expect(adapter.refusal(topic, encrypted(encrypted(plain, secret: "s3cret"), secret: "s3cret")) == .malformed)
        #expect(throws: Refusal.self) { try OwnTracksKeys(lines: "alice/phone") }
        #expect(throws: Refusal.self) {
            try OwnTracksKeys(lines: "alice/phone " + String(repeating: "x", count: 33))
        }
    }
}
