import LockstepSensors
import Testing

@testable import lockstep_cluster

@Suite("What deploy/cluster plans and reads")
struct ClusterValueTests {
    @Test("random kills are as many as planned, a seed repeats them, and no part is killed twice at a time")
    func random() {
        func kills(seed: UInt64) -> [[String]] {
            var generator = SeededGenerator(seed: seed)
            var kills = RandomKills(of: ["a", "b", "c"], count: 101)
            var names: [[String]] = []
            while kills.left > 0 { names.append(kills.next(using: &generator).map(\.name)) }
            return names
        }
        let found = kills(seed: 1)
        #expect(found.flatMap(\.self).count == 101 && found == kills(seed: 1) && found != kills(seed: 2))
        #expect(found.allSatisfy { Set($0).count == $0.count } && Set(found.map(\.count)) == [1, 2])
        #expect(Set(found.flatMap(\.self)) == ["a", "b", "c"])
    }

    @Test("the owners of shares follow from what collectors log")
    func owners() {
        var owners = ShareOwners()
        owners.read("info share taken over token=7 share=west:0-2 devices=1", of: "a")
        owners.read("info share taken over share=north", of: "a")
        owners.read("info collector started share=south", of: "a")
        owners.read("info share taken over share=south", of: "b")
        #expect(owners.all == ["north", "south", "west:0-2"])
        owners.read("warning share lost share=north error=none", of: "a")
        #expect(owners.shares(of: "a") == ["west:0-2"])
        owners.read("info share released share=west:0-2", of: "a")
        owners.didEnd("b")
        #expect(owners.all.isEmpty)
    }
}
