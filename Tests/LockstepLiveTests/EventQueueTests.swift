import Testing

@testable import LockstepLive

@Suite("EventQueue")
struct EventQueueTests {
    private func event(_ letter: Character, bytes: Int = 100) -> [UInt8] {
        Array(String(repeating: letter, count: bytes).utf8)
    }

    @Test("events leave in order, and nothing is dropped below the limit")
    func order() {
        var queue = EventQueue(limit: 300, overflow: .dropsSamples)
        for letter in "abc" { #expect(queue.add(event(letter), samples: 5) == true) }
        #expect(queue.take() == [event("a"), event("b"), event("c")])
        #expect(queue.isEmpty && queue.bytes == 0)
    }

    @Test("if samples exceed the limit, the oldest are dropped and their number comes first")
    func drop() {
        var queue = EventQueue(limit: 300, overflow: .dropsSamples)
        #expect(queue.add(event("h"), samples: 0) == true)
        for letter in "abcde" { #expect(queue.add(event(letter), samples: 5) == true) }
        #expect(queue.bytes <= 300)
        let notice = EventBytes.event("dropped", data: Array(#"{"samples":15}"#.utf8))
        #expect(queue.take() == [notice, event("h"), event("d"), event("e")])
        #expect(queue.add(event("f"), samples: 5) == true)
        #expect(queue.take() == [event("f")], "the number is not repeated")
    }

    @Test("an event that is larger than the limit is dropped itself")
    func large() {
        var queue = EventQueue(limit: 300, overflow: .dropsSamples)
        #expect(queue.add(event("a", bytes: 301), samples: 7) == true)
        #expect(events(queue.take()).map(\.data) == [#"{"samples":7}"#])
    }

    @Test("a queue of events that must not be missed reports that it is full")
    func ends() {
        var queue = EventQueue(limit: 300, overflow: .ends)
        for letter in "abc" { #expect(queue.add(event(letter), samples: 0) == true) }
        #expect(queue.add(event("d"), samples: 0) == false)
    }

    @Test("control events that exceed the limit end the subscriber, because they cannot be dropped")
    func controlEvents() {
        var queue = EventQueue(limit: 300, overflow: .dropsSamples)
        #expect(queue.add(event("a", bytes: 300), samples: 0) == true)
        #expect(queue.add(event("b"), samples: 0) == false)
    }

    @Test("time without progress counts from the first check")
    func firstStandstill() {
        var queue = EventQueue(limit: 300, overflow: .dropsSamples)
        _ = queue.add(event("a"), samples: 1)
        #expect(queue.stallTime(at: 90_000_000) == 0)
        #expect(queue.stallTime(at: 90_001_000) == 1000)
    }

    @Test("time without progress counts only while events wait")
    func stallTime() {
        var queue = EventQueue(limit: 300, overflow: .dropsSamples)
        #expect(queue.stallTime(at: 1000) == 0)
        #expect(queue.stallTime(at: 9000) == 0)
        _ = queue.add(event("a"), samples: 1)
        #expect(queue.stallTime(at: 10_000) == 1000)
        _ = queue.add(event("b"), samples: 1)
        #expect(queue.stallTime(at: 12_000) == 3000)
        _ = queue.take()
        _ = queue.add(event("c"), samples: 1)
        #expect(queue.stallTime(at: 13_000) == 0, "events were taken since")
        #expect(queue.stallTime(at: 14_000) == 1000)
    }
}
