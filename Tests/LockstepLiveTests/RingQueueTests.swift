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

    @Test("elements that are put back leave first")
    func prepend() {
        var queue = RingQueue<Int>()
        for number in 10..<14 { queue.append(number) }
        for number in (0..<10).reversed() { queue.prepend(number) }
        #expect((0..<queue.count).map { queue[$0] } == Array(0..<14))
        #expect(queue.removeFirst() == 0 && queue.first == 1)
    }
}
