import SensorTestSupport
import Testing

@testable import LockstepModel

@Suite("Deadline queue")
struct DeadlineQueueTests {
    @Test("entries are removed in the order of their deadlines, and none before its deadline")
    func order() {
        var queue = DeadlineQueue<Int>()
        var waiting: [Int64] = []
        var (random, seed) = seeded("deadline queue")
        for round in 0..<2000 {
            let deadline = Int64.random(in: 0..<500, using: &random)
            queue.add(Int(deadline), deadline: deadline)
            waiting.append(deadline)
            guard round.isMultiple(of: 3) else { continue }
            waiting.sort()
            #expect(queue.nextDeadline == waiting.first, "seed \(seed)")
            let early = queue.popExpired(at: waiting[0] - 1)
            #expect(early == nil, "seed \(seed)")
            let taken = queue.popExpired(at: waiting[0])
            #expect(taken?.deadline == waiting[0] && taken?.key == Int(waiting[0]), "seed \(seed)")
            waiting.removeFirst()
        }
        var rest: [Int64] = []
        while let (deadline, _) = queue.popExpired(at: .max) { rest.append(deadline) }
        #expect(rest == waiting.sorted() && queue.nextDeadline == nil, "seed \(seed)")
    }
}
