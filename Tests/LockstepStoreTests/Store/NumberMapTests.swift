import Testing

@testable import LockstepStore

@Suite("Map of numbers")
struct NumberMapTests {
    @Test("random changes have the same effect as on a dictionary, also for negative and large keys")
    func randomChanges() {
        let limit = NumberMap<Int>.arrayLimit
        let keys = Array(0..<40) + [-9, -1, 300, limit - 1, limit, limit + 1, Int.max]
        var random = SystemRandomNumberGenerator()
        var (map, model) = (NumberMap<Int>(), [Int: Int]())
        for step in 0..<3000 {
            let key = keys.randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<4, using: &random) {
            case 0: (map[key], model[key]) = (step, step)
            case 1: (map[key], model[key]) = (nil, nil)
            case 2:
                map[key, default: 7] += 1
                model[key, default: 7] += 1
            default: #expect(map[key, default: -1] == model[key, default: -1])
            }
            #expect(map[key] == model[key])
        }
        #expect(map.keys == model.keys.sorted())
        #expect(map.keys.allSatisfy { map[$0] == model[$0] })
    }
}
