import Testing

@testable import LockstepGateway

@Suite("Numbered messages")
struct MessageSequencesTests {
    private let sender = ForeignName("sensorlogger", ["a"])

    @Test("gaps and repetitions in a session are found, and late messages fill gaps")
    func findings() {
        var sequences = MessageSequences()
        func note(_ number: Int64, _ session: String = "s") -> MessageSequences.Finding? {
            sequences.note(MessageNumber(session: session, number: number), of: sender)
        }
        #expect(note(5) == nil, "the first number is not a gap")
        #expect(note(6) == nil)
        #expect(note(9) == .missing(2))
        #expect(note(8) == nil)
        #expect(note(8) == .repeated)
        #expect(note(10) == nil)
        #expect(note(0, "t") == nil, "a new session starts anew")
        #expect(note(1, "t") == nil)
        #expect(note(-1, "t") == nil)
        #expect(note(.max, "t") == nil)
    }

    @Test("senders are independent")
    func senders() {
        var sequences = MessageSequences()
        let other = ForeignName("sensorlogger", ["b"])
        #expect(sequences.note(MessageNumber(session: "s", number: 1), of: sender) == nil)
        #expect(sequences.note(MessageNumber(session: "s", number: 7), of: other) == nil)
        #expect(sequences.note(MessageNumber(session: "s", number: 3), of: sender) == .missing(1))
    }
}
