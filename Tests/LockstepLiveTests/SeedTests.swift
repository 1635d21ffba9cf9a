import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("LiveDevices with what a store knows")
struct SeedTests {
    private var live = LiveDevices(root: .standard)
    private let left = device("left")

    @Test("a stored state is used until the broker sends one, and does not replace it")
    mutating func state() {
        let seed = DeviceSeed(address: left, transition: transition(.terminated, seq: 4))
        #expect(live.seed([seed]).count == 1)
        #expect(live[left]?.transition?.to == .terminated)
        live.handle(.state(transition(.active, seq: 5), of: left), at: 1)
        #expect(live.seed([seed]).isEmpty)
        #expect(live[left]?.transition?.to == .active)
    }

    @Test("the number of samples is the stored one and those received since")
    mutating func counters() {
        _ = live.seed([DeviceSeed(address: left, counters: StoredCounters(samples: 100, missing: 2))])
        live.handle(.samples(samples(10, from: 1), of: left), at: 1)
        #expect(live[left].map { ($0.counters?.samples ?? 0) + $0.received } == 110)
        _ = live.seed([DeviceSeed(address: left, counters: StoredCounters(samples: 110, missing: 3))])
        #expect(live[left].map { ($0.counters?.samples ?? 0) + $0.received } == 110)
        #expect(live[left]?.counters?.missing == 3)
    }

    @Test("stored samples are not live: they set newest values, but no rate and no recent samples")
    mutating func newest() throws {
        let seed = DeviceSeed(
            address: left, newest: [samples(1, from: 3), SampleBlock(stream: .pressure)], lastSample: moment(4).wall)
        _ = live.seed([seed])
        let known = try #require(live[left])
        #expect(known.newest == moment(4).wall)
        #expect(known[.accelerometer]?.newestTime == moment(3).wall)
        #expect(known.sortedStreams.map(\.stream) == [.accelerometer, .pressure])
        #expect(known.arrivedStreams.isEmpty)
        #expect(known[.accelerometer]?.recent.isEmpty == true)
        live.handle(.samples(samples(1, from: 9), of: left), at: 9)
        _ = live.seed([seed])
        #expect(live[left]?.newest == moment(9).wall, "an older stored time does not set it back")
        #expect(live[left]?[.accelerometer]?.newestTime == moment(9).wall)
    }

    @Test("a seed without news does not mark the device as changed")
    mutating func revision() {
        let seed = DeviceSeed(address: left, counters: StoredCounters(samples: 1))
        _ = live.seed([seed])
        let before = live.revision
        _ = live.seed([seed])
        #expect(live.revision == before)
    }
}
