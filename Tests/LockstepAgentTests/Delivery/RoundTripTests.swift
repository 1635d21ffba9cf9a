import Testing

@testable import LockstepAgent

@Suite("What a network takes")
struct RoundTripTests {
    private let minute: Int64 = 60_000_000

    @Test("is the least of what was seen, and not known before")
    func least() {
        var trip = RoundTrip()
        #expect(trip.least == nil)
        for (number, duration) in [90_000, 40_000, 70_000].enumerated() {
            trip.add(Int64(duration), at: 1000 * minute + Int64(number))
        }
        #expect(trip.least == 40_000)
    }

    @Test("is known anew two minutes after the network has become slower")
    func slower() {
        var trip = RoundTrip()
        var known: [Int64?] = []
        for second in 0..<200 as Range<Int64> {
            trip.add(second < 10 ? 40_000 : 400_000, at: second * 1_000_000)
            if second.isMultiple(of: 50) { known.append(trip.least) }
        }
        #expect(known == [40_000, 40_000, 40_000, 400_000])
    }
}
