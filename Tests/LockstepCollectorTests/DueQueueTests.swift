import Testing

@testable import LockstepCollector

@Suite("The queue of what is due")
struct DueQueueTests {
    @Test("hands out what is due, the earliest first, and nothing before its time")
    func order() {
        var queue = DueQueue<Int>()
        var waiting: [Int64] = []
        var generator = SystemRandomNumberGenerator()
        for round in 0..<2000 {
            let due = Int64.random(in: 0..<500, using: &generator)
            queue.add(Int(due), due: due)
            waiting.append(due)
            guard round.isMultiple(of: 3) else { continue }
            waiting.sort()
            #expect(queue.nextDue == waiting.first)
            let early = queue.popDue(at: waiting[0] - 1)
            #expect(early == nil)
            let taken = queue.popDue(at: waiting[0])
            #expect(taken?.due == waiting[0] && taken?.key == Int(waiting[0]))
            waiting.removeFirst()
        }
        var rest: [Int64] = []
        while let (due, _) = queue.popDue(at: .max) { rest.append(due) }
        #expect(rest == waiting.sorted() && queue.nextDue == nil)
    }
}
