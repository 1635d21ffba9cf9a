import LockstepGateway
import LockstepModel
import Testing

@Suite("Batches of the page for browsers")
struct JoinTests {
    private let adapter = JoinAdapter()
    private let path = "/join/api/v1/batches"

    private func batch(
        seq: String = "7", sent: String = "1795575600000", state: String = #""active""#,
        streams: String = #"{"stream":"motion/accelerometer","samples":[[1795575599000000,0.1,0,-1]]}"#
    ) -> String {
        #"{"group":"phones","device":"my-phone","epoch":"72fb8639","seq":\#(seq),"sent":\#(sent),"state":\#(state),"#
            + #""reason":"start","streams":[\#(streams)]}"#
    }

    private func translate(_ text: String, user: String? = nil) throws(Refusal) -> Translation {
        try adapter.translate(
            ForeignMessage(
                origin: .request(HTTPFacts(path: path, user: user)), payload: Array(text.utf8), receivedAt: receipt))
    }

    @Test("columns come in the order of the stream, and absent and null values are unknown")
    func columns() throws {
        let streams =
            #"{"stream":"location","samples":[[1795575599000000,1,2,null,5]]},"#
            + #"{"stream":"orientation","samples":[[1795575599000001,"faceUp"]]},{"stream":"x/none","samples":[[1,2]]}"#
        let report = try #require(try translate(batch(streams: streams), user: "alice").reports.first)
        #expect(report.sender.description == "join/alice/my-phone")
        #expect(report.claimed?.description == "phones/my-phone")
        #expect(report.sequence == MessageNumber(session: "72fb8639", number: 7))
        #expect(report.readings.count == 2)
        #expect(report.readings[0].time == 1_795_575_599_000_000)
        #expect(report.readings[0].number("hacc") == 5)
        #expect(report.readings[0].values.map(\.column) == ["lat", "lon", "hacc"])
        #expect(report.readings[1].word("value") == "faceUp")
        #expect(report.omissions == ["the stream 'x/none' is unknown"])
        let sent = Timestamp(microseconds: 1_795_575_600_000_000)
        #expect(report.presence == ForeignPresence(.foreground, reason: "start", at: sent))
    }

    @Test("a batch that is sent long after its newest sample is late, and does not change the state")
    func late() throws {
        #expect(try translate(batch(sent: "1795575608999")).reports.first?.isLate == false)
        let late = try #require(try translate(batch(sent: "1795575609001")).reports.first)
        #expect(late.isLate == true && late.presence == nil)
        let empty = try #require(try translate(batch(state: #""background""#, streams: "")).reports.first)
        #expect(empty.isLate == false && empty.presence?.phase == .background)
    }

    @Test(
        "malformed batches are refused",
        arguments: [
            ("null", "7"), ("7", #""x""#), (#""7""#, "1"), ("0", "1795575600000"), ("7", "-1"), ("7", "1e300"),
        ])
    func malformed(_ numbers: (seq: String, sent: String)) {
        #expect(throws: Refusal.self) { try translate(batch(seq: numbers.seq, sent: numbers.sent)) }
    }

    @Test(
        "malformed samples are refused",
        arguments: [
            "5", #"{"samples":[]}"#, #"{"stream":"location","samples":5}"#, #"{"stream":"location","samples":[5]}"#,
            #"{"stream":"location","samples":[[]]}"#, #"{"stream":"location","samples":[["1"]]}"#,
            #"{"stream":"location","samples":[[-9223372036854775808,1,2]]}"#,
            #"{"stream":"location","samples":[[9223372036854775807,1,2]]}"#,
            #"{"stream":"battery","samples":[[1,0.5,"full",1]]}"#, #"{"stream":"location","samples":[[1,[2],3]]}"#,
        ])
    func malformedSamples(_ streams: String) {
        #expect(throws: Refusal.self) { try translate(batch(streams: streams)) }
    }

    @Test("a claimed name counts only in the group of browsers, and an entry of the map before it")
    func addresses() throws {
        var mapping = DeviceMapping(
            entries: ["join/alice/my-phone": try DeviceMapping.address("family/alice")], acceptsAny: true)
        let claimed = try DeviceMapping.address("phones/my-phone")
        let eve = ForeignName("join", ["eve", "my-phone"])
        #expect(
            try mapping.address(of: ForeignName("join", ["alice", "my-phone"]), claimed: claimed).description
                == "family/alice")
        #expect(try mapping.address(of: eve, claimed: claimed) == claimed)
        let other = try DeviceMapping.address("lab/robot")
        #expect(throws: Refusal.self) { try mapping.address(of: eve, claimed: other) }
        let tablet = try DeviceMapping.address("phones/tablet")
        mapping.entries["join/alice/tablet"] = tablet
        #expect(throws: Refusal.self, "the map gives it to alice") { try mapping.address(of: eve, claimed: tablet) }
        mapping.acceptsAny = false
        #expect(throws: Refusal.self) { try mapping.address(of: eve, claimed: claimed) }
    }

    @Test("a position that is not on Earth is refused", arguments: [(91.0, 0.0), (-90.5, 0), (0, 180.5), (0, -181)])
    func positions(_ position: (lat: Double, lon: Double)) throws {
        let streams =
            #"{"stream":"location","samples":[[1795575599000000,\#(position.lat),\#(position.lon)]]}"#
        let reading = try #require(try translate(batch(streams: streams)).reports.first?.readings.first)
        #expect(throws: Refusal.self) { try SampleFitter(catalog: .builtIn).sample(reading, at: receipt) }
    }

    @Test("the answer has the number of the batch, and refusals the status that ends all attempts")
    func answers() {
        let accepted = adapter.answer(to: .accepted(RequestReceipt(number: 7)))
        #expect(accepted.status == 200)
        #expect(String(decoding: accepted.body, as: UTF8.self) == #"{"accepted":true,"seq":7}"#)
        let statuses = Refusal.Kind.allCases.map { adapter.answer(to: .refused(Refusal($0, ""))).status }
        #expect(statuses == [400, 403, 403, 503, 409, 422])
        #expect(adapter.answer(to: .unavailable).status == 503)
    }
}
