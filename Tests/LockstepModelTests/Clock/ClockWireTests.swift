import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@Suite("The payloads of the clock")
struct ClockWireTests {
    private let pong = ClockPong(
        number: 7, collector: CollectorID(unchecked: "main"), boot: "1f0c2d3e", received: 100, sent: 120,
        shift: 1_700_000_000_000_000, maxError: 900)

    @Test("a request and an answer survive encoding")
    func exchange() throws {
        let bytes = ClockJSON.encode(ClockPing(number: 7))
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"n":7}"#)
        #expect(try bytes.withUnsafeBytes { try ClockJSON.decodePing($0) } == ClockPing(number: 7))
        #expect(try Array(#"{ "n": 8 }"#.utf8).withUnsafeBytes { try ClockJSON.decodePing($0).number } == 8)
        #expect(try ClockJSON.decodePong(Data(ClockJSON.encode(pong))) == pong)
    }

    @Test(
        "an invalid answer is refused",
        arguments: [
            "{}", #"{"n":1,"collector":"a b","boot":"x","received":1,"sent":1,"shift":0}"#,
            #"{"n":1,"collector":"a","boot":"x","received":-1,"sent":1,"shift":0}"#,
            #"{"n":1,"collector":"a","boot":"x","received":1,"sent":1,"shift":9223372036854775807}"#,
        ])
    func invalid(text: String) {
        #expect(throws: PayloadError.self) { try ClockJSON.decodePong(Data(text.utf8)) }
    }

    private var presence: Presence {
        let point = ClockPoint(
            collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: 1_700_000_000_000_000),
            segment: Timestamp(microseconds: 1_600_000_000_000_000), offset: -1234, skew: -17_000, bound: 180,
            skewBound: 900)
        return Presence(
            epoch: Epoch(unchecked: "e1"), session: 1, phase: .foreground, at: Timestamp(microseconds: 5),
            reason: "start", clock: ClockReport(isSynchronised: true, maxError: 500, points: [point, point]))
    }

    @Test("a presence keeps its clock")
    func report() throws {
        let bytes = PresenceJSON.encode(presence)
        #expect(try PresenceJSON.decode(Data(bytes)) == presence)
        for clock in [ClockReport(), ClockReport(isSynchronised: false), ClockReport(maxError: 3)] {
            var other = presence
            other.clock = clock
            let bytes = PresenceJSON.encode(other)
            #expect(try PresenceJSON.decode(Data(bytes)) == other)
        }
    }

    @Test("values out of range are refused")
    func range() {
        let text = String(decoding: PresenceJSON.encode(presence), as: UTF8.self)
            .replacing(#""bound":180"#, with: #""bound":-180"#)
        #expect(throws: PayloadError.self) { try PresenceJSON.decode(Data(text.utf8)) }
    }
}
