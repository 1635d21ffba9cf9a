import LockstepModel
import Testing

@testable import LockstepSensors

@Suite("gpsd conversation")
struct GpsdConversationTests {
    private typealias Action = GpsdConversation.Action

    private func say(_ conversation: inout GpsdConversation, _ text: String, at now: Int64 = 0) -> [Action] {
        conversation.receive(Array((text + "\r\n").utf8), at: now)
    }

    private func advance(_ conversation: inout GpsdConversation, _ now: Int64) -> [Action] {
        conversation.advance(to: now)
    }

    private func sample(at time: Int64, _ values: [Double?]) -> Action {
        var block = SampleBlock(stream: .location)
        block.append(time: Timestamp(microseconds: time), values: values.map { $0 ?? .nan })
        return .sample(block)
    }

    private let version = #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#

    private func position(_ second: Int, mode: Int = 3) -> String {
        let place = mode < 2 ? "" : #","lat":46.5,"lon":7.5"#
        return #"{"class":"TPV","mode":\#(mode),"time":"1970-01-01T00:00:0\#(second).000Z"\#(place)}"#
    }

    @Test("each column contains the matching value in the stream's unit")
    func columns() {
        var conversation = GpsdConversation(stamping: .now)
        #expect(say(&conversation, version) == [.report(.waiting("no fix"))])
        let full =
            #"{"class":"TPV","mode":3,"time":"1970-01-01T00:00:05.250Z","lat":1.5,"lon":-2.5,"altHAE":99,"#
            + #""altMSL":50.5,"alt":51,"epx":3,"epy":4,"epv":8,"track":359.5,"speed":1.25,"climb":0}"#
        #expect(say(&conversation, full, at: 700).isEmpty)
        #expect(
            advance(&conversation, 300_700) == [
                sample(at: 700, [1.5, -2.5, 50.5, 5, 8, 1.25, 359.5, 3, 5_250_000]), .report(.running),
            ])
        let plain = #"{"class":"TPV","mode":2,"lat":1,"lon":2,"alt":51,"epx":3,"epy":4,"eph":7}"#
        #expect(say(&conversation, plain, at: 400_000).isEmpty)
        #expect(advance(&conversation, 700_000) == [sample(at: 400_000, [1, 2, 51, 7, nil, nil, nil, 2, nil])])
    }

    @Test("malformed lines are counted and skipped, and lines of unused classes are not counted")
    func malformed() {
        var conversation = GpsdConversation(stamping: .now)
        for line in [
            "{", "$GPGGA,1*00", "[]", #"{"class":"TPV","mode":"three"}"#, #"{"class":"TPV","time":"noon"}"#,
            #"{"class":7}"#, #"{"klass":"TPV"}"#, "\u{0}\u{1}",
        ] {
            #expect(say(&conversation, line).isEmpty)
        }
        #expect(conversation.malformedLines == 8)
        #expect(say(&conversation, #"{"class":"PPS","device":"/dev/pps0"}"#).isEmpty)
        #expect(say(&conversation, #"{"class":"SKY","nSat":8,"uSat":5,"satellites":[]}"#).isEmpty)
        #expect(conversation.malformedLines == 8)
        #expect(say(&conversation, position(5)).isEmpty)
        #expect(advance(&conversation, 300_000).count == 2)
    }

    @Test("bytes may arrive in chunks of any size")
    func pieces() {
        var conversation = GpsdConversation(stamping: .now)
        var actions: [Action] = []
        for byte in Array((version + "\r\n" + position(5) + "\n").utf8) {
            actions += conversation.receive([byte], at: 0)
        }
        actions += advance(&conversation, 300_000)
        #expect(actions.count == 3)
    }

    @Test("a line that is too long is dropped, and the next line is read")
    func endless() {
        var conversation = GpsdConversation(stamping: .now)
        for _ in 0..<100 { _ = conversation.receive([UInt8](repeating: 65, count: 10_000), at: 0) }
        _ = say(&conversation, "")
        #expect(say(&conversation, version) == [.report(.waiting("no fix"))])
    }

    @Test("a missing receiver and errors from gpsd are reported")
    func statuses() {
        var conversation = GpsdConversation(stamping: .now)
        _ = say(&conversation, version)
        #expect(
            say(&conversation, #"{"class":"DEVICES","devices":[]}"#) == [.report(.waiting("gpsd has no receiver"))])
        #expect(
            say(&conversation, #"{"class":"ERROR","message":"Unrecognized request"}"#)
                == [.report(.waiting("gpsd reports an error: Unrecognized request"))])
    }

    @Test("a lost fix is reported as one sample without position and as a status")
    func lost() {
        var conversation = GpsdConversation(stamping: .now)
        _ = say(&conversation, position(5))
        _ = say(&conversation, position(6, mode: 1), at: 1_000_000)
        #expect(
            advance(&conversation, 1_300_000) == [
                sample(at: 1_000_000, [nil, nil, nil, nil, nil, nil, nil, 1, 6_000_000]), .report(.waiting("no fix")),
            ])
        _ = say(&conversation, position(7, mode: 1), at: 2_000_000)
        #expect(advance(&conversation, 3_000_000).isEmpty)
    }

    @Test("an old fix is reported as stale until a new one arrives")
    func stale() {
        var conversation = GpsdConversation(stamping: .now)
        _ = say(&conversation, position(5))
        _ = advance(&conversation, 300_000)
        #expect(advance(&conversation, 12_000_000) == [.report(.stale("last fix 12 s ago"))])
        _ = say(&conversation, position(6), at: 13_000_000)
        #expect(advance(&conversation, 13_300_000).last == .report(.running))
    }

    @Test("with the receiver's time, a fix that is not later than the previous one is dropped and counted")
    func ownTime() {
        var conversation = GpsdConversation(stamping: .own, assembler: FixAssembler(deadline: 0))
        var actions: [Action] = []
        for (index, line) in [
            position(5), position(3), #"{"class":"TPV","mode":3,"lat":1,"lon":2}"#, position(6, mode: 1), position(7),
        ].enumerated() {
            actions += say(&conversation, line, at: Int64(index))
        }
        actions += conversation.advance(to: 10)
        let place: [Double?] = [46.5, 7.5, nil, nil, nil, nil, nil]
        #expect(
            actions == [
                sample(at: 5_000_000, place + [3, 5_000_000]), .report(.running),
                .report(.waiting("1 fix dropped, the last not later than the previous one")),
                .report(.waiting("2 fixes dropped, the last without a time")),
                sample(at: 6_000_000, [nil, nil, nil, nil, nil, nil, nil, 1, 6_000_000]), .report(.waiting("no fix")),
                sample(at: 7_000_000, place + [3, 7_000_000]), .report(.running),
            ])
        #expect(conversation.droppedFixes == 2)
    }

    @Test("with the receiver's time, a missing fix without time is only a status")
    func ownTimeNoFix() {
        var conversation = GpsdConversation(stamping: .own, assembler: FixAssembler(deadline: 0))
        _ = say(&conversation, #"{"class":"TPV","mode":1}"#)
        #expect(advance(&conversation, 1) == [.report(.waiting("no fix"))])
    }

    @Test("the end of a connection flushes the pending fix, is reported once, and repeated fixes are recognised later")
    func disconnected() {
        var conversation = GpsdConversation(stamping: .now)
        _ = say(&conversation, version + "\n" + position(5))
        let first = conversation.disconnected("gone")
        let second = conversation.disconnected("gone")
        #expect(first.count == 3)
        #expect(first.last == .report(.unavailable("gone")))
        #expect(second.isEmpty)
        #expect(say(&conversation, version) == [.report(.waiting("no fix"))])
        _ = say(&conversation, position(5))
        #expect(advance(&conversation, 5_000_000).isEmpty)
    }

    @Test("the retry backoff doubles from half a second to half a minute, with jitter")
    func backoff() {
        var generator = SeededGenerator(seed: 1)
        var backoff = Backoff()
        let waits = (0..<10).map { _ in backoff.next(using: &generator) }
        for (wait, upper) in zip(waits, [1.0, 2, 4, 8, 16, 30, 30, 30, 30, 30]) {
            #expect((upper / 2...upper).contains(wait))
        }
        #expect(Set(waits).count == 10)
        backoff.reset()
        let again = backoff.next(using: &generator)
        #expect((0.5...1).contains(again))
    }
}
