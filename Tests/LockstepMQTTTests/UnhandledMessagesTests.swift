import Testing

@testable import LockstepMQTT

@Suite("Messages that nobody handles")
struct UnhandledMessagesTests {
    @Test("they are reported at once, and then once a minute with the last topic")
    func report() {
        var messages = UnhandledMessages()
        #expect(messages.takeReport(at: 0) == nil)
        messages.add("a")
        let first = messages.takeReport(at: 0)
        #expect(first?.messages == 1 && first?.topic == "a")
        for topic in ["b", "c"] { messages.add(topic) }
        #expect(messages.takeReport(at: 59_999_999) == nil)
        let second = messages.takeReport(at: 60_000_000)
        #expect(second?.messages == 2 && second?.topic == "c")
        #expect(messages.takeReport(at: 120_000_000) == nil)
    }
}
