import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("Rates")
struct RateTests {
    private var live = LiveDevices(root: .standard)
    private let left = device("left")

    @Test("the rate is correct from the first batch, and does not depend on the number of batches in the window")
    mutating func steady() {
        for second in 0..<30 {
            // Batches arrive up to 20 ms late.
            live.handle(.samples(samples(100, from: Double(second)), of: left), at: late(second))
            for later in [0.1, 0.5, 0.9] {
                let rate = rate(at: Double(second) + later)
                #expect(abs(rate - 100) < 3, "\(rate) after \(second) s")
            }
        }
    }

    @Test("the rate does not depend on how many samples a batch has, or on when it arrives")
    mutating func irregularBatches() {
        var next = 0
        for (index, count) in [30, 100, 170, 5, 95, 200, 60].enumerated() {
            let start = Double(next) / 100
            next += count
            let arrival = Double(next) / 100 + [0.3, 0, 0.2][index % 3]
            live.handle(.samples(samples(count, from: start), of: left), at: arrival)
            #expect(abs(rate(at: arrival + 0.1) - 100) < 0.001, "\(rate(at: arrival + 0.1)) after \(next) samples")
        }
    }

    @Test("a recording that is played faster has the rate at which its samples arrive")
    mutating func fastRecording() {
        for second in 0..<10 {
            live.handle(.samples(samples(500, from: Double(second) * 5), of: left), at: Double(second))
        }
        #expect(abs(rate(at: 9) - 500) < 1, "\(rate(at: 9))")
    }

    @Test("the rate decreases to 0 within ten seconds after the last samples")
    mutating func stopped() {
        for second in 0...20 { live.handle(.samples(samples(100, from: Double(second)), of: left), at: Double(second)) }
        let rates = stride(from: 23.5, to: 30, by: 1).map { rate(at: $0) }
        #expect(rates == [70, 60, 50, 40, 30, 20, 10])
        #expect(rate(at: 30) == 0)
    }

    @Test("a sparse stream has its rate")
    mutating func sparse() {
        for second in stride(from: 0, to: 60, by: 4) {
            live.handle(.samples(samples(1, from: Double(second)), of: left), at: Double(second))
        }
        #expect(rate(at: 57) == 0.25)
    }

    @Test("a new connection resets rates, and late batches do not count")
    mutating func reset() {
        for second in 0..<5 { live.handle(.samples(samples(100, from: Double(second)), of: left), at: Double(second)) }
        live.didConnect()
        #expect(rate(at: 5) == 0)
        live.handle(.samples(samples(700, from: 0), of: left, isLive: false), at: 6)
        live.handle(.samples(samples(100, from: 6), of: left), at: 6)
        #expect(rate(at: 6) == 100)
        #expect(live[left]?.backlogRate(at: moment(6).boot, window: 10_000_000) == 700)
    }

    @Test("many small batches take bounded memory and keep their rate")
    mutating func smallBatches() throws {
        for index in 0..<30_000 {
            live.handle(.samples(samples(1, from: Double(index) / 1000), of: left), at: Double(index) / 1000)
        }
        #expect(abs(rate(at: 30) - 1000) < 10)
        let arrivals = try #require(live[left]?[.accelerometer]?.arrivals)
        #expect(arrivals.count <= 201)
    }

    private func late(_ second: Int) -> Double { Double(second) + Double(second * 7 % 5) / 250 }

    private func rate(at seconds: Double) -> Double {
        guard let known = live[left], let stream = known[.accelerometer] else { return -1 }
        return live.rate(of: stream, of: known, at: moment(seconds).boot)
    }
}
