import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("The row ids of batches")
struct BatchIDsTests {
    private let first = Epoch(unchecked: "first")
    private let second = Epoch(unchecked: "second")

    /// Ids 1 to 10 belong to the first epoch, and the ids above to the second.
    private var ids: BatchIDs {
        var ids = BatchIDs()
        ids.begin(first, base: 0)
        ids.begin(second, base: 10)
        return ids
    }

    @Test("an id is the base of the epoch plus the number")
    func conversion() {
        for (id, epoch, seq) in [(1, first, 1), (10, first, 10), (11, second, 1), (500, second, 490)] {
            let position = BatchPosition(epoch: epoch, seq: Int64(seq))
            #expect(ids.id(of: position) == Int64(id))
            #expect(ids.position(of: Int64(id)) == position)
        }
        #expect(ids.position(of: 0) == nil)
    }

    @Test("numbers that an epoch does not have are ignored")
    func outOfRange() {
        let all = Int64.min...Int64.max
        #expect(ids.ids(of: [first: SequenceSet([all])]) == SequenceSet([1...10]))
        #expect(ids.ids(of: [second: SequenceSet([all])]) == SequenceSet([11...Int64.max]))
        #expect(ids.ids(of: [first: [0...0, 11...20], Epoch(unchecked: "other"): [1...1]]).isEmpty)
        #expect(ids.id(of: BatchPosition(epoch: first, seq: 11)) == nil)
    }

    @Test("a set of ids is divided into the numbers of each epoch")
    func numbers() {
        #expect(ids.numbers(of: SequenceSet([3...4, 8...12])) == [first: [3...4, 8...10], second: [1...2]])
        #expect(ids.ids(of: [first: [3...4, 8...10], second: [1...2]]) == SequenceSet([3...4, 8...12]))
        #expect(ids.numbers(of: SequenceSet()).isEmpty)
    }

    @Test("an epoch without batches is replaced by the next one")
    func replaced() {
        var ids = ids
        let third = Epoch(unchecked: "third")
        ids.begin(third, base: 10)
        #expect(ids.base(of: second) == nil && ids.base(of: third) == 10)
        #expect(ids.position(of: 11) == BatchPosition(epoch: third, seq: 1))
    }
}
