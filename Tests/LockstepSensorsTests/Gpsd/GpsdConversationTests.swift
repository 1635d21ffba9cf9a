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
            "{", "$GPGGA,1*00", "[]", #"{"class":"TPV","mode":"three"}"#, #"{"class":"TPV","lat":"north"}"#,
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
        #expect(
            say(&conversation, version) == [
                .report(.waiting("no fix; 1 line of gpsd not used, the last: longer than 262144 bytes"))
            ])
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

    @Test(
        "with the receiver's time, a step back loses no fix and is counted; a fix without a time is dropped and counted"
    )
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
        let step = "the receiver's time stepped back by 2 s"
        let untimed = "1 fix without a time dropped"
        #expect(
            actions == [
                sample(at: 5_000_000, place + [3, 5_000_000]), .report(.running),
                sample(at: 3_000_001, place + [3, 3_000_000]), .report(.degraded(step)),
                .report(.degraded("\(untimed); \(step)")),
                sample(at: 6_000_000, [nil, nil, nil, nil, nil, nil, nil, 1, 6_000_000]),
                .report(.waiting("no fix; \(untimed); \(step)")),
                sample(at: 7_000_000, place + [3, 7_000_000]), .report(.degraded("\(untimed); \(step)")),
            ])
        #expect(conversation.droppedFixes == 1)
        #expect(conversation.stepsBack == 1)
    }

    @Test("one wrong date in the future does not make later fixes old, with unique timestamps and one warning")
    func wrongDate() {
        var conversation = GpsdConversation(stamping: .own, assembler: FixAssembler(deadline: 0))
        func line(_ second: Int, _ place: Int) -> String {
            let digits = [second / 60, second % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
            let time = "1970-01-01T00:\(digits[0]):\(digits[1]).000Z"
            return #"{"class":"TPV","mode":3,"time":"\#(time)","lat":46.\#(100 + place),"lon":7.5}"#
        }
        var actions: [Action] = []
        // The date is wrong at first and once more later, so that some times occur twice.
        let seconds = [1601] + Array(1001...1010) + [1601] + Array(1005...1020)
        for (index, second) in seconds.enumerated() {
            actions += say(&conversation, line(second, index), at: Int64(index) * 1_000_000)
        }
        actions += conversation.advance(to: 28_000_000)
        let times = actions.compactMap { if case .sample(let block) = $0 { block.times[0] } else { nil } }
        #expect(times.count == seconds.count)
        #expect(Set(times).count == seconds.count)
        #expect(zip(times, seconds).allSatisfy { abs($0 - Int64($1) * 1_000_000) < 1000 })
        #expect(conversation.stepsBack == 2)
        #expect(
            actions.filter { if case .report = $0 { true } else { false } } == [
                .report(.running), .report(.degraded("the receiver's time stepped back by 600 s")),
                .report(.degraded("the receiver's time stepped back 2 times, the last time by 596 s")),
            ])
    }

    /// The places and statuses after fixes of 10 Hz, of which those with an index in `wrong` are 1024 weeks ahead.
    private func fixes(wrong: Set<Int>, isSynchronised: Bool, system: Int64) -> (places: [Double], last: Action?) {
        let base: Int64 = 1_795_000_000_000_000
        var conversation = GpsdConversation(
            stamping: .own, assembler: FixAssembler(deadline: 0),
            systemClock: { (Timestamp(microseconds: system + $0), isSynchronised) })
        var actions: [Action] = []
        for index in 0..<10 {
            let boot = Int64(index) * 100_000
            let time = Timestamp(microseconds: base + boot + (wrong.contains(index) ? 619_315_200_000_000 : 0))
            let line = #"{"class":"TPV","mode":3,"time":"\#(time)","lat":\#(index),"lon":7}"#
            actions += say(&conversation, line, at: boot)
        }
        actions += conversation.advance(to: 1_000_000)
        return (
            actions.compactMap { if case .sample(let block) = $0 { block.columns[0][0] } else { nil } },
            actions.last { if case .report = $0 { true } else { false } }
        )
    }

    @Test("a fix far in the future is dropped and counted, and costs no other fix", arguments: [true, false], [0, 5])
    func future(isSynchronised: Bool, wrong: Int) {
        let (places, last) = fixes(wrong: [wrong], isSynchronised: isSynchronised, system: 1_795_000_000_000_000)
        #expect(places == (0..<10).filter { $0 != wrong }.map(Double.init))
        guard case .report(.degraded(let text)) = last else {
            Issue.record("\(String(describing: last))")
            return
        }
        #expect(text.hasPrefix("1 fix with a time in the future dropped, the last of 2046-"))
    }

    @Test("if the system's clock or the first fixes were behind, no later fix is dropped")
    func behind() {
        let all = (0..<10).map(Double.init)
        #expect(fixes(wrong: [], isSynchronised: false, system: 0).places == all)
        #expect(fixes(wrong: Set(3..<10), isSynchronised: false, system: 1_795_000_000_000_000).places == all)
        #expect(fixes(wrong: Set(3..<10), isSynchronised: true, system: 1_795_000_000_000_000).places == [0, 1, 2])
    }

    @Test(
        "a value that cannot be read costs only its column", arguments: [#""n/a""#, "nan", "-Infinity", "{}", "1e999"])
    func unreadableValue(value: String) {
        var conversation = GpsdConversation(stamping: .now, assembler: FixAssembler(deadline: 0))
        let names = ["altMSL", "eph", "epv", "speed", "track", "time"]
        for (index, name) in names.enumerated() {
            let line = #"{"class":"TPV","mode":3,"lat":1,"lon":2,"\#(name)":\#(value)}"#
            _ = say(&conversation, line, at: Int64(index) * 1_000_000)
            let actions = advance(&conversation, Int64(index) * 1_000_000 + 1)
            #expect(
                actions.first
                    == sample(at: Int64(index) * 1_000_000, [1, 2, nil, nil, nil, nil, nil, 3, nil]), "\(name)")
            if index == 0 {
                #expect(actions.last == .report(.degraded("1 report with a value left out, the last 'altMSL'")))
            }
        }
        #expect(conversation.malformedLines == 0)
    }

    private func position(of device: String, _ second: Int, latitude: Double?, altitude: Double? = nil) -> String {
        let place = latitude.map { #","lat":\#($0),"lon":7.5"# } ?? ""
        let height = altitude.map { #","altMSL":\#($0)"# } ?? ""
        return #"{"class":"TPV","device":"\#(device)","mode":\#(latitude == nil ? 1 : 3),"#
            + #""time":"1970-01-01T00:00:0\#(second).000Z"\#(place)\#(height)}"#
    }

    private func samples(_ actions: [Action]) -> [[Double?]] {
        actions.compactMap { action in
            guard case .sample(let block) = action else { return nil }
            return [block.columns[0][0], block.columns[2][0]].map { $0.isNaN ? nil : $0 }
        }
    }

    @Test("reports of several receivers are never combined into one fix", arguments: [Stamping.now, .own])
    func severalReceivers(stamping: Stamping) {
        var conversation = GpsdConversation(stamping: stamping)
        var actions: [Action] = []
        for second in 1...2 {
            let now = Int64(second) * 1_000_000
            actions += say(&conversation, position(of: "/dev/a", second, latitude: 46), at: now)
            actions += say(&conversation, position(of: "/dev/b", second, latitude: 47, altitude: 9), at: now + 1)
        }
        actions += advance(&conversation, 4_000_000)
        #expect(samples(actions) == [[46, nil], [47, 9], [46, nil], [47, 9]])
        let times = actions.compactMap { if case .sample(let block) = $0 { block.times[0] } else { nil } }
        #expect(Set(times).count == 4)
        #expect(
            actions.last(where: { if case .report = $0 { true } else { false } })
                == .report(
                    .degraded(
                        "fixes of 2 receivers (/dev/a, /dev/b): choose one by its path, as in gpsd://host:port/dev/a")))
    }

    @Test("a receiver without fix does not report a loss while another one has a fix")
    func receiverWithoutFix() {
        var conversation = GpsdConversation(stamping: .now, assembler: FixAssembler(deadline: 0))
        var actions: [Action] = []
        for second in 1...4 {
            let now = Int64(second) * 1_000_000
            actions += say(&conversation, position(of: "/dev/a", second, latitude: second < 4 ? 46 : nil), at: now)
            actions += say(&conversation, position(of: "/dev/b", second, latitude: nil), at: now + 1)
        }
        actions += advance(&conversation, 5_000_000)
        #expect(samples(actions) == [[46, nil], [46, nil], [46, nil], [nil, nil]])
    }

    @Test("only the chosen receiver is used, and its absence is reported")
    func chosenReceiver() {
        var conversation = GpsdConversation(
            stamping: .now, device: "/dev/b", assembler: FixAssembler(deadline: 0))
        #expect(
            say(&conversation, #"{"class":"DEVICES","devices":[{"path":"/dev/a"},{"path":"/dev/c"}]}"#)
                == [.report(.waiting("gpsd has no receiver /dev/b, only /dev/a, /dev/c"))])
        _ = say(&conversation, position(of: "/dev/a", 1, latitude: 46), at: 0)
        _ = say(&conversation, position(of: "/dev/b", 1, latitude: 47), at: 0)
        #expect(samples(advance(&conversation, 1)) == [[47, nil]])
    }

    @Test("impossible values are refused with a reason, and a course of 360 degrees is north")
    func impossibleValues() {
        var conversation = GpsdConversation(stamping: .now, assembler: FixAssembler(deadline: 0))
        _ = say(&conversation, version)
        #expect(
            say(&conversation, position(of: "/dev/a", 1, latitude: 91)) == [
                .report(
                    .waiting(
                        "no fix; 1 line of gpsd not used, the last ('{\"class\":\"TPV\",\"device\":\"/dev/a\",\"mode\":…'): "
                            + "91.0 is not a latitude"))
            ])
        #expect(say(&conversation, #"{"class":"TPV","mode":3,"lat":1,"lon":180.5}"#).count == 1)
        // The count has not doubled, so the status stays the same.
        #expect(say(&conversation, "{").isEmpty)
        #expect(conversation.malformedLines == 3)
        let line = #"{"class":"TPV","mode":3,"lat":90,"lon":-180,"track":360,"speed":-1,"eph":-1,"epv":2}"#
        _ = say(&conversation, line, at: 1)
        #expect(
            advance(&conversation, 2) == [
                sample(at: 1, [90, -180, nil, nil, 2, nil, 0, 3, nil]),
                .report(
                    .degraded(
                        "2 lines of gpsd not used, the last ('{\"class\":\"TPV\",\"mode\":3,\"lat\":1,\"lon\":18…'): "
                            + "180.5 is not a longitude")),
            ])
        // A minute later the warning has ended.
        _ = say(&conversation, position(2), at: 61_000_000)
        #expect(advance(&conversation, 61_000_001).last == .report(.running))
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
}
