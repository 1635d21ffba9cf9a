import Foundation
import LockstepModel
import LockstepWire
import Testing

private let calibration = InertialCalibration(
    time: Timestamp(microseconds: 1_700_000_000_000_000),
    matrix: [SIMD3(0.97, 0.01, 0), SIMD3(0.01, 1, -0.02), SIMD3(0, -0.02, 1.05)], offset: SIMD3(0.08, 0, -0.01),
    rotationOffset: SIMD3(0.01, 0, 0), positions: 9, errorBefore: 0.08, errorAfter: 0.0004)

/// Returns a request with a calibration.
private func calibrate(
    matrix: String = "1,0,0,0,1,0,0,0,1", offset: String = "0,0,0", rate: String = "0,0,0", error: String = "0"
) -> String {
    #"{"calibrate":{"t":1,"matrix":[\#(matrix)],"offset":[\#(offset)],"rate_offset":[\#(rate)],"positions":6,"#
        + #""error_before":0,"error_after":\#(error)}}"#
}

@Suite("Request to an agent")
struct RequestTests {
    private func decode(_ text: String) throws -> AgentRequest { try RequestJSON.decode(Data(text.utf8)) }

    @Test("hand-written requests are decoded")
    func handWritten() throws {
        let lease = try decode(#"{"rate":{"stream":"motion/accelerometer","hz":50,"lease_s":60}}"#)
        #expect(lease.action == .lease(RateLease(stream: .accelerometer, rate: 50, duration: 60)))
        #expect(lease.id == nil && lease.client == nil)
        let named = try decode(#"{"id":"7","client":"a page","phase":"background","more":[1]}"#)
        #expect(named == AgentRequest(id: "7", client: "a page", action: .phase(.background)))
        #expect(try decode(#"{"flush":true}"#).action == .flush)
        #expect(try decode(#"{"describe":true,"flush":false}"#).action == .describe)
        let end = try decode(#"{"rate":{"stream":"steps","hz":0}}"#)
        #expect(end.action == .lease(RateLease(stream: .steps, rate: 0, duration: 1)))
    }

    @Test(
        "a request survives a round trip",
        arguments: [
            AgentRequest(
                id: "a\"b", client: "c", action: .lease(RateLease(stream: .gyroscope, rate: 12.5, duration: 3600))),
            AgentRequest(action: .phase(.inactive)), AgentRequest(id: "1", action: .flush),
            AgentRequest(client: "x", action: .describe), AgentRequest(id: "2", action: .calibrate(calibration)),
            AgentRequest(id: "3", action: .calibrate(nil)),
        ])
    func roundTrip(_ request: AgentRequest) throws {
        #expect(try RequestJSON.decode(Data(RequestJSON.encode(request))) == request)
    }

    @Test(
        "an invalid request is rejected with a reason",
        arguments: [
            ("", "not valid JSON"), ("[]", "not an object"),
            ("{}", "exactly one of 'rate', 'phase', 'flush', 'describe' and 'calibrate'"),
            (#"{"flush":true,"calibrate":null}"#, "exactly one of 'rate'"),
            (calibrate(matrix: "1,0,0,0,1,0,0,0"), "'matrix' must have nine numbers"),
            (calibrate(offset: "0,0"), "'offset' must have three numbers"),
            (calibrate(matrix: "1.3,0,0,0,1,0,0,0,1"), "an element of the matrix differs by more than 0.25"),
            (calibrate(matrix: "1,0,0.01,0,1,0,0,0,1"), "the matrix is not symmetric"),
            (calibrate(offset: "0,0,0.3"), "the offset of the accelerometer is above 0.25 g"),
            (calibrate(rate: "0,-0.4,0"), "the offset of the gyroscope is above 0.35 rad/s"),
            (calibrate(error: "-1"), "the time, the number of positions or an error is out of range"),
            (#"{"flush":true,"describe":true}"#, "exactly one of 'rate'"),
            (#"{"phase":"asleep"}"#, "'phase' is 'asleep'"),
            (#"{"phase":"terminated"}"#, "valid phases are foreground"),
            (#"{"rate":{"stream":"motion/nose","hz":5,"lease_s":9}}"#, "unknown stream 'motion/nose'"),
            (#"{"rate":{"stream":"steps","hz":-1,"lease_s":9}}"#, "'hz' must be"),
            (#"{"rate":{"stream":"steps","hz":1e9,"lease_s":9}}"#, "'hz' must be"),
            (#"{"rate":{"stream":"steps","hz":5}}"#, "'rate.lease_s' is missing"),
            (#"{"rate":{"stream":"steps","hz":5,"lease_s":0}}"#, "'lease_s' must be from 1.0 to 86400.0 seconds"),
            (#"{"rate":{"stream":"steps","hz":"fast","lease_s":9}}"#, "'rate.hz' is not a number"),
        ])
    func rejected(_ text: String, _ reason: String) {
        let error = #expect(throws: PayloadError.self) { try decode(text) }
        #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
    }

    @Test("the id of an invalid request is returned")
    func names() {
        #expect(RequestJSON.id(of: Data(#"{"id":"7","phase":"asleep"}"#.utf8)) == "7")
        #expect(RequestJSON.id(of: Data("no".utf8)) == nil)
    }

    @Test("long names are truncated, and a request that is too large is rejected")
    func bounds() throws {
        let long = "e" + String(repeating: "\u{301}", count: 500)
        let request = try RequestJSON.decode(Data(#"{"id":"\#(long)","client":"\#(long)","flush":true}"#.utf8))
        #expect(request.id?.utf8.count == 99 && request.client?.utf8.count == 99)
        let huge = Data((#"{"id":"7","flush":true}"# + String(repeating: " ", count: RequestJSON.maxBytes)).utf8)
        #expect(RequestJSON.id(of: huge) == nil)
        let error = #expect(throws: PayloadError.self) { try RequestJSON.decode(huge) }
        #expect(error?.description == "the request has \(huge.count) bytes: the limit is 16384")
    }
}

@Suite("Reply of an agent")
struct ReplyTests {
    private func text(_ reply: AgentReply) -> String { String(decoding: ReplyJSON.encode(reply), as: UTF8.self) }

    @Test("each outcome is encoded as specified")
    func replies() {
        let until = Timestamp(microseconds: 1_700_000_000_000_000)
        let leased = text(AgentReply(id: "7", outcome: .leased(stream: .steps, rate: 50, until: until)))
        #expect(leased == #"{"id":"7","ok":true,"rate":{"stream":"steps","hz":50,"until":1700000000000000}}"#)
        let ended = text(AgentReply(outcome: .leased(stream: .steps, rate: .infinity, until: nil)))
        #expect(ended == #"{"ok":true,"rate":{"stream":"steps","hz":"source"}}"#)
        #expect(text(AgentReply(outcome: .phase(.background))) == #"{"ok":true,"phase":"background"}"#)
        #expect(text(AgentReply(id: "a", outcome: .flushed(batches: 3))) == #"{"id":"a","ok":true,"flushed":3}"#)
        #expect(text(AgentReply(outcome: .calibrated(nil))) == #"{"ok":true,"calibration":null}"#)
        let calibrated = AgentReply(id: "a", outcome: .calibrated(calibration))
        #expect(
            text(calibrated)
                == #"{"id":"a","ok":true,"calibration":{"t":1700000000000000,"matrix":[0.97,0.01,0,0.01,1,-0.02,0,-0.02,1.05],"#
                + #""offset":[0.08,0,-0.01],"rate_offset":[0.01,0,0],"positions":9,"error_before":0.08,"#
                + #""error_after":0.0004}}"#)
        let failed = text(AgentReply(id: "a", outcome: .failed("'x' is \"no\" stream")))
        #expect(failed == #"{"id":"a","ok":false,"error":"'x' is \"no\" stream"}"#)
    }

    @Test("a description is encoded as specified")
    func descriptions() {
        let description = AgentDescription(
            epoch: Epoch(unchecked: "e1"), phase: .foreground,
            streams: [.init(stream: .orientation, rate: nil), .init(stream: .gyroscope, rate: 12.5)],
            leases: [.init(client: "c", stream: .gyroscope, rate: 12.5, until: Timestamp(microseconds: 5))],
            sources: ["iio": "running"], outboxBatches: 2, outboxBytes: 100, droppedSamples: 0)
        #expect(
            text(AgentReply(outcome: .described(description))) == #"""
                {"ok":true,"describe":{"epoch":"e1","phase":"foreground","streams":[{"stream":"orientation","hz":0,\#
                "columns":["value"],"units":[""]},{"stream":"motion/gyroscope","hz":12.5,"columns":["x","y","z"],\#
                "units":["rad/s","rad/s","rad/s"]}],"leases":[{"client":"c","stream":"motion/gyroscope","hz":12.5,\#
                "until":5}],"sources":{"iio":"running"},"outbox":{"batches":2,"bytes":100,"dropped_samples":0}}}
                """#)
    }
}
