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
            reason: "a \"quoted\" reason\\\n\u{1}\u{1F}ü€😀", seq: 9,
            pending: [epoch: SequenceSet([1...4, 8...9]), Epoch(unchecked: "e0"): SequenceSet([3...7])],
            dropped: [1...4, 7...9_007_199_254_740_991],
            droppedSamples: 99,
            sources: ["simulate": "running", "gpsd://h:1 \"x\"": "stale: \t"],
            calibration: InertialCalibration(
                time: Timestamp(microseconds: 9), matrix: InertialCalibration.identity, offset: SIMD3(0.1, 0, 0),
                positions: 6, errorBefore: 0.1, errorAfter: 0.001))
        #expect(try PresenceJSON.decode(Data(PresenceJSON.encode(presence))) == presence)
        let minimal = Presence(epoch: nil, session: nil, phase: phase, at: nil)
        #expect(try PresenceJSON.decode(Data(PresenceJSON.encode(minimal))) == minimal)
        #expect(text(PresenceJSON.encode(minimal)) == #"{"phase":"\#(phase.rawValue)"}"#)
    }

    @Test("a point of a clock that no receiver accepts costs only that point")
    func invalidClockPoint() throws {
        func point(time: Int64, skew: Int64) -> ClockPoint {
            ClockPoint(
                collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: time),
                segment: Timestamp(microseconds: 1),
                offset: 2, skew: skew, bound: 3, skewBound: 4)
        }
        let good = point(time: 5, skew: 6)
        let points = [point(time: -1, skew: 6), good, point(time: 5, skew: 2_000_000_000)]
        let presence = Presence(
            epoch: epoch, session: 7, phase: .foreground, at: nil, clock: ClockReport(points: points))
        let payload = PresenceJSON.encode(presence)
        #expect(try PresenceJSON.decode(Data(payload)).clock?.points == [good])
    }

    @Test("the ends of the validity of certificates survive a round trip, and unknown or impossible ones are ignored")
    func certificates() throws {
        let times = ["ca": Timestamp(microseconds: 1), "client": Timestamp(microseconds: 2_000_000_000_000_000)]
        let presence = Presence(epoch: epoch, session: 7, phase: .foreground, at: nil, certificates: times)
        let payload = PresenceJSON.encode(presence)
        #expect(text(payload).hasSuffix(#","certificates":{"ca":1,"client":2000000000000000}}"#))
        #expect(try PresenceJSON.decode(Data(payload)) == presence)
        let other = #"{"phase":"foreground","certificates":{"ca":-1,"other":5,"client":7}}"#
        #expect(try PresenceJSON.decode(Data(other.utf8)).certificates == ["client": Timestamp(microseconds: 7)])
        for health in [
            CollectorHealth(status: .online, at: Timestamp(microseconds: 5), certificates: times),
            CollectorHealth(status: .online, at: Timestamp(microseconds: 5)),
        ] {
            #expect(try CollectorHealth.decode(Data(health.encoded())) == health)
        }
        let gateway = GatewayHealth(status: .online, at: Timestamp(microseconds: 5), certificates: times)
        #expect(try GatewayHealth.decode(Data(gateway.encoded())) == gateway)
    }

    @Test("a presence with many pending ranges is limited, and reports rather too many batches than too few")
    func pendingLimit() throws {
        let odd = SequenceSet((1...3000).map { $0 * 2...$0 * 2 })
        let presence = Presence(epoch: epoch, session: 1, phase: .foreground, at: nil, seq: 6000, pending: [epoch: odd])
        let decoded = try #require(try PresenceJSON.decode(Data(PresenceJSON.encode(presence))).pending[epoch])
        #expect(decoded.ranges.count == 1000 && decoded.last == 6000 && odd.subtracting(decoded).isEmpty)
    }

    @Test("a presence lists the batches of 250 epochs, and always those of its own")
    func pendingEpochs() throws {
        let names = (1...300).map { Epoch(unchecked: "e\($0)") }
        let own = Epoch(unchecked: "zzz")
        func listed(_ count: Int) throws -> [Epoch: SequenceSet] {
            let batches = SequenceSet([1...2, 4...5])
            let pending = Dictionary(uniqueKeysWithValues: (names.prefix(count - 1) + [own]).map { ($0, batches) })
            let presence = Presence(
                epoch: own, session: 1, phase: .foreground, at: nil, seq: 6, pending: pending)
            let decoded = try PresenceJSON.decode(Data(PresenceJSON.encode(presence))).pending
            #expect(decoded.allSatisfy { pending[$0.key] == $0.value } && decoded[own] != nil)
            return decoded
        }
        #expect(try listed(250).count == 250)
        #expect(try listed(300).count == 250)
    }

    @Test("at most a thousand ranges of pending batches are decoded, in all epochs")
    func manyPending() throws {
        let ranges = (1...900).map { "[\(2 * $0),\(2 * $0)]" }.joined(separator: ",")
        let text = #"{"phase":"foreground","pending":{"a":[\#(ranges)],"b":[\#(ranges)],"c":[\#(ranges)]}}"#
        let pending = try PresenceJSON.decode(Data(text.utf8)).pending
        #expect(pending.mapValues(\.rangeCount) == [Epoch(unchecked: "a"): 900, Epoch(unchecked: "b"): 100])
    }

    @Test(
        "invalid pending batches are rejected",
        arguments: [
            #"{"e":[[0,1]]}"#, #"{"e":[[2,1]]}"#, #"{"e":[[1]]}"#, #"{"e":[[1,9007199254740992]]}"#,
            #"{"e/1":[[1,2]]}"#,
        ])
    func invalidPending(_ pending: String) {
        #expect(throws: PayloadError.self) {
            try PresenceJSON.decode(Data(#"{"phase":"foreground","pending":\#(pending)}"#.utf8))
        }
        #expect(throws: PayloadError.self) { try PresenceJSON.decode(Data(#"{"phase":"foreground","seq":-1}"#.utf8)) }
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

    @Test("at most a hundred sources are kept, with 200 characters each")
    func longSources() throws {
        let long = String(repeating: "x", count: 1000)
        let sources = (100..<300).map { #""s\#($0)\#(long)":"\#(long)""# }.joined(separator: ",")
        let payload = Array(#"{"phase":"foreground","sources":{\#(sources)}}"#.utf8)
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
            (
                "",
                "not valid JSON: no value at byte 0 (JSON has no NaN or Infinity: use null for an unknown value)"
            ),
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
