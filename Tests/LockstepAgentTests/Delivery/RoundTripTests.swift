import Testing

@testable import LockstepAgent

@Suite("The round-trip time")
struct RoundTripTests {
    private let minute: Int64 = 60_000_000

    @Test("the minimum is that of all measurements, or nil if there are none")
    func minimum() {
        var trip = RoundTrip()
        #expect(trip.minimum == nil)
        for (number, duration) in [90_000, 40_000, 70_000].enumerated() {
            trip.add(Int64(duration), at: 1000 * minute + Int64(number))
        }
        #expect(trip.minimum == 40_000)
    }

    @Test("the minimum follows a slower network within two minutes")
    func slower() {
        var trip = RoundTrip()
        var known: [Int64?] = []
        for second in 0..<200 as Range<Int64> {
            trip.add(second < 10 ? 40_000 : 400_000, at: second * 1_000_000)
            if second.isMultiple(of: 50) { known.append(trip.minimum) }
        }
        #expect(known == [40_000, 40_000, 40_000, 400_000])
    }
}
