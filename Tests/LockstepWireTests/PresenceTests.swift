import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@Suite("Presence in JSON")
struct PresenceTests {
    @Test("a presence message is encoded as specified")
    func format() {
        let presence = Presence(
            epoch: epoch, session: 7, phase: .foreground, at: Timestamp(microseconds: 1_700_000_000_000_000),
            reason: "start")
        #expect(
            text(PresenceJSON.encode(presence))
                == #"{"epoch":"e1","session":7,"phase":"foreground","at":1700000000000000,"reason":"start"}"#)
    }

    @Test("a presence message survives a round trip", arguments: Phase.allCases)
    func roundTrip(_ phase: Phase) throws {
        let presence = Presence(
            epoch: epoch, after: Epoch(unchecked: "e0"), session: 1 << 53 - 1, phase: phase,
            at: Timestamp(microseconds: 0),
            reason: "a \"quoted\" reason\\\n\u{1}\u{1F}ü€😀", dropped: [1...4, 7...9_007_199_254_740_991],
            droppedSamples: 99,
            sources: ["simulate": "running", "gpsd://h:1 \"x\"": "stale: \t"])
        #expect(try PresenceJSON.decode(Data(PresenceJSON.encode(presence))) == presence)
        let minimal = Presence(epoch: nil, session: nil, phase: phase, at: nil)
        #expect(try PresenceJSON.decode(Data(PresenceJSON.encode(minimal))) == minimal)
        #expect(text(PresenceJSON.encode(minimal)) == #"{"phase":"\#(phase.rawValue)"}"#)
    }

    @Test("the canonical form is decoded without a JSON decoder", arguments: Phase.allCases)
    func canonical(_ phase: Phase) throws {
        // Test all 64 combinations of the six optional members.
        for included in 0..<64 {
            func ifIncluded<Value>(_ bit: Int, _ value: Value) -> Value? { included & 1 << bit == 0 ? nil : value }
            let presence = Presence(
                epoch: ifIncluded(0, epoch), after: ifIncluded(1, Epoch(unchecked: "e0")), session: ifIncluded(2, 7),
                phase: phase,
                at: ifIncluded(3, Timestamp(microseconds: 1_700_000_000_000_000)), reason: ifIncluded(4, "start"),
                sources: ifIncluded(5, ["iio motion/accelerometer": "running", "gpsd": "no fix"]) ?? [:])
            let payload = PresenceJSON.encode(presence)
            #expect(payload.withUnsafeBytes { PresenceJSON.decodeCanonical($0) } == presence, "\(text(payload))")
        }
    }

    @Test(
        "other forms are left to the JSON decoder",
        arguments: [
            "", "{}", #"{"phase":"asleep"}"#, #"{"phase": "lost"}"#, #"{"phase":"lost"} "#,
            #"{"phase":"lost","at":-1}"#,
            #"{"session":9007199254740992,"phase":"lost"}"#, #"{"phase":"lost","sources":{}}"#,
            #"{"phase":"lost","sources":{"a":"b","a":"c"}}"#, #"{"phase":"lost","reason":"\u00e4"}"#,
            #"{"epoch":"e/1","phase":"lost"}"#, #"{"phase":"lost","dropped":[[1,2]]}"#,
        ])
    func notCanonical(_ payload: String) {
        #expect(Array(payload.utf8).withUnsafeBytes { PresenceJSON.decodeCanonical($0) } == nil)
    }

    @Test("a problem, and the reason of a refusal, have at most 500 characters")
    func longProblem() throws {
        let long = String(repeating: "x", count: 600)
        let payload = PresenceJSON.encode(
            Presence(epoch: nil, session: nil, phase: .foreground, at: nil, problem: long))
        #expect(text(payload) == #"{"phase":"foreground","problem":"\#(long.prefix(500))"}"#)
        let refusal = AcknowledgementJSON.encode(
            Acknowledgement(epoch: epoch, through: 0, refusal: .init(seq: 7, reason: long)))
        #expect(text(refusal).hasSuffix(#""reason":"\#(long.prefix(500))"}}"#))
    }

    @Test("unknown keys are ignored, and missing keys are nil")
    func unknownKeys() throws {
        let presence = try PresenceJSON.decode(data(#"{"phase":"background","battery":{"level":0.5},"at":null}"#))
        #expect(presence == Presence(epoch: nil, session: nil, phase: .background, at: nil))
    }

    @Test("at most a thousand ranges of dropped batches are decoded, and they are sorted")
    func manyDropped() throws {
        let ranges = (1...60_000).reversed().map { "[\(3 * $0),\(3 * $0)]" }.joined(separator: ",")
        let dropped = try PresenceJSON.decode(data(#"{"phase":"lost","dropped":[\#(ranges)]}"#)).dropped
        #expect(dropped.count == 1000)
        #expect(zip(dropped, dropped.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
    }

    @Test("at most a hundred sources are kept, with 200 characters each, in any form", arguments: ["", " "])
    func longSources(_ space: String) throws {
        let long = String(repeating: "x", count: 1000)
        let sources = (100..<300).map { #""s\#($0)\#(long)":"\#(long)""# }.joined(separator: ",")
        let payload = Array(#"{\#(space)"phase":"foreground","sources":{\#(sources)}}"#.utf8)
        let decoded = try payload.withUnsafeBytes { bytes throws(PayloadError) in try PresenceJSON.decode(bytes) }
            .sources
        #expect(decoded.count == 100)
        #expect(decoded["s100" + long.prefix(196)] == String(long.prefix(200)))
    }

    @Test("a reason is truncated to 200 characters")
    func longReason() throws {
        let presence = try PresenceJSON.decode(
            data(#"{"phase":"lost","reason":"\#(String(repeating: "x", count: 5000))"}"#))
        #expect(presence.reason?.count == 200)
    }

    @Test(
        "an invalid presence message is rejected with a reason",
        arguments: [
            ("", "not valid JSON (JSON has no NaN or Infinity: use null for an unknown value)"),
            ("{}", "'phase' is missing"),
            (#"{"phase":null}"#, "'phase' is not a string"),
            (#"{"phase":1}"#, "'phase' is not a string"),
            (
                #"{"phase":"Foreground"}"#,
                "'phase' is 'Foreground'; valid phases are foreground, inactive, background, terminated, lost"
            ),
            (#"{"phase":"lost","session":"1"}"#, "'session' is not a whole number"),
            (#"{"phase":"lost","at":"now"}"#, "'at' is not a whole number"),
            (
                #"{"phase":"lost","at":-9223372036854775808}"#,
                "'at' is -9223372036854775808: it must be a time in µs since 1970"
            ),
            (
                #"{"phase":"lost","at":9007199254740992}"#,
                "'at' is 9007199254740992: it must be a time in µs since 1970"
            ),
            (#"{"phase":"lost","session":-1}"#, "'session' is -1: it must be a time in µs since 1970"),
            (
                #"{"phase":"lost","dropped_samples":-12}"#,
                "'dropped_samples' is -12: it must be a number of samples from 0 to 2^53 - 1"
            ),
            (
                #"{"phase":"lost","session":9223372036854775807}"#,
                "'session' is 9223372036854775807: it must be a time in µs since 1970"
            ),
            (#"{"phase":"lost","reason":5}"#, "'reason' is not a string"),
            (#"{"phase":"lost","dropped":[[1]]}"#, "'dropped' must be a list of pairs [from, to] of batch numbers"),
            (#"{"phase":"lost","dropped":[[0,1]]}"#, "'dropped' must be a list of pairs [from, to] of batch numbers"),
            (#"{"phase":"lost","dropped":[[2,1]]}"#, "'dropped' must be a list of pairs [from, to] of batch numbers"),
            (
                #"{"phase":"lost","dropped":[[1,9007199254740992]]}"#,
                "'dropped' must be a list of pairs [from, to] of batch numbers"
            ),
            (#"{"phase":"lost","dropped":[1,2]}"#, "'dropped[0]' is not an array"),
            (#"{"phase":"lost","sources":{"a":1}}"#, "'sources.a' is not a string"),
            (#"{"phase":"lost","sources":[]}"#, "'sources' is not an object"),
            (#"{"phase":"lost","epoch":"a b"}"#, "'a b' is not an epoch: use 1 to 64 characters of A-Z a-z 0-9 _ . -"),
        ])
    func rejected(_ payload: String, _ reason: String) {
        let error = #expect(throws: PayloadError.self) { try PresenceJSON.decode(data(payload)) }
        #expect(error?.description == reason)
    }
}
