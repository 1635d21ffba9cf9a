import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("Recent samples")
struct RecentSamplesTests {
    @Test("batches are kept for thirty seconds, also if nothing else arrives")
    func age() {
        var live = LiveDevices(root: .standard)
        for second in 0..<60 {
            live.handle(.samples(samples(10, from: Double(second)), of: device("left")), at: Double(second))
        }
        #expect(live[device("left")]?[.accelerometer]?.recent.count == 31)
        live.removeExcess(at: moment(70).boot)
        #expect(live[device("left")]?[.accelerometer]?.recent.count == 20)
        live.removeExcess(at: moment(100).boot)
        #expect(live[device("left")]?[.accelerometer]?.recent.isEmpty == true)
        #expect(live.recent.bytes == 0)
    }

    @Test("10,000 devices stay within the limit of bytes, and the oldest batches are removed first")
    func bytes() throws {
        let limit = 4_000_000
        var live = LiveDevices(root: .standard, limits: LiveLimits(recentBytes: limit))
        let payload = Message.samples(samples(50, from: 0), of: device("d")).payload
        for round in 0..<3 {
            for index in 0..<10_000 {
                live.handle(Message(device("d\(index)"), "motion/accelerometer", payload), at: Double(round))
                #expect(live.recent.bytes <= limit)
            }
        }
        #expect(live.devices.count == 10_000)
        let counts = live.devices.map { $0[.accelerometer]?.recent.count ?? 0 }
        let kept = counts.reduce(0, +)
        #expect(kept == limit / RecentSamples.memory(of: samples(50, from: 0)))
        // The newest batches are those of the last devices.
        #expect(counts.suffix(kept).allSatisfy { $0 == 1 } && counts.dropLast(kept).allSatisfy { $0 == 0 })
    }

    @Test("the estimated memory covers the real one")
    func memory() {
        let block = samples(100, from: 0)
        let arrays = block.columns.reduce(block.times.capacity * 8) { $0 + $1.capacity * 8 }
        #expect(RecentSamples.memory(of: block) >= arrays + MemoryLayout<SampleBlock>.size + 5 * 32)
    }
}
