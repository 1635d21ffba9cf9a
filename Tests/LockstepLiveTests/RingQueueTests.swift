import Testing

@testable import LockstepLive

@Suite("RingQueue")
struct RingQueueTests {
    @Test("elements leave in the order in which they were added, also after the queue has grown and shrunk")
    func order() {
        var queue = RingQueue<Int>()
        var expected: [Int] = []
        var next = 0
        for count in [3, 50, 2, 200, 1] {
            for _ in 0..<count {
                queue.append(next)
                expected.append(next)
                next += 1
            }
            #expect((0..<queue.count).map { queue[$0] } == expected)
            for _ in 0..<count - 1 { #expect(queue.removeFirst() == expected.removeFirst()) }
            #expect(queue.first == expected.first)
        }
        while let element = queue.removeFirst() { #expect(element == expected.removeFirst()) }
        #expect(expected.isEmpty && queue.isEmpty)
    }
}
