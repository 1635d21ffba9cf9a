import LockstepModel
import LockstepWire
import Testing

@testable import LockstepAgent

@Suite("LagHistogram")
struct LagHistogramTests {
    @Test("quantiles are at most 1/64 above the exact value")
    func quantiles() throws {
        var histogram = LagHistogram()
        let values = (1...100_000).map { Int64($0 * $0) }
        for value in values.shuffled() { histogram.record(value) }
        for share in [0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1] {
            let exact = values[Int((share * 100_000).rounded(.up)) - 1]
            let quantile = try #require(histogram.quantile(share))
            #expect(quantile >= exact && Double(quantile) <= Double(exact) * (1 + 1.0 / 64), "\(share)")
        }
        #expect(histogram.max == 10_000_000_000 && histogram.count == 100_000)
    }

    @Test("small values are exact, and an empty histogram has no quantiles")
    func small() {
        var histogram = LagHistogram()
        #expect(histogram.quantile(0.5) == nil)
        for value in [-5, 0, 1, 127, 128] { histogram.record(Int64(value)) }
        #expect([0.4, 0.6, 0.8, 1].map { histogram.quantile($0) } == [0, 1, 127, 128])
        histogram.record(.max)
        #expect(histogram.quantile(1) == .max)
    }
}

@Suite("MemorySeries")
struct MemorySeriesTests {
    @Test("the number of readings is bounded, and the first, last and largest reading are kept")
    func bounded() {
        var series = MemorySeries()
        for second in 0..<100_000 {
            series.add(second == 77_777 ? 9_000_000 : 1000 + second, at: Int64(second) * 1_000_000)
        }
        #expect(series.readings.count <= MemorySeries.limit)
        #expect(series.readings.count >= MemorySeries.limit / 2)
        #expect(series.first == 1000 && series.last == 100_999 && series.max == 9_000_000)
        let steps = Set(zip(series.readings.dropFirst(), series.readings).map { $0.at - $1.at })
        #expect(steps.count == 1)
    }

    @Test("the growth covers only the second half of the time")
    func growth() throws {
        var flat = MemorySeries()
        var growing = MemorySeries()
        for second in 0..<120 {
            flat.add(second < 60 ? second * 1_000_000 : 60_000_000, at: Int64(second) * 1_000_000)
            growing.add(5_000_000 + second * 1000, at: Int64(second) * 1_000_000)
        }
        let flatRate = try #require(flat.growth)
        let growingRate = try #require(growing.growth)
        #expect(abs(flatRate) < 1 && abs(growingRate - 60_000) < 1)
        #expect(MemorySeries().growth == nil)
    }
}

@Suite("DeliveryLog")
struct DeliveryLogTests {
    private let plan = FleetPlan(
        devices: 2, group: .standard, streams: [.accelerometer], rate: 10, window: 1_000_000, duration: 60_000_000,
        backlog: 2_000_000, seed: 1, run: Timestamp(microseconds: 0))

    @Test("the lag of live data starts at completion, that of backlog at publication, and each batch counts once")
    func lags() {
        var log = DeliveryLog()
        let first = log.publish(1, isBacklog: true, at: 5_000_000)
        // The windows of device 1 end half a window later: batch 3 is complete at 0.5 s.
        _ = log.publish(3, isBacklog: false, at: 700_000)
        let again = log.publish(1, isBacklog: true, at: 6_000_000)
        #expect(first && !again)
        // Batch 2 was not sent in this run, so its acknowledgement does not count.
        let ack = Acknowledgement(epoch: plan.epoch(1), through: 3)
        let new = log.handle(ack, of: 1, plan: plan, at: 8_000_000)
        #expect(new == .init(batches: 2, samples: 20, liveLags: [7_500_000], backlogLags: [3_000_000]))
        let nothing = log.handle(ack, of: 1, plan: plan, at: 9_000_000)
        #expect(nothing == .init())
    }

    @Test("batches that an acknowledgement lists as missing are not acknowledged")
    func missing() {
        var log = DeliveryLog()
        for seq in Int64(3)...6 { _ = log.publish(seq, isBacklog: false, at: 0) }
        let ack = Acknowledgement(epoch: plan.epoch(0), through: 3, missing: [4...5], highest: 6)
        let new = log.handle(ack, of: 0, plan: plan, at: 1)
        #expect(new.batches == 2)
        #expect(log.sent.subtracting(log.acknowledged) == SequenceSet([4...5]))
    }
}

@Suite("CollectorWatch")
struct CollectorWatchTests {
    private func health(stored: Int, started: Int64?, status: CollectorHealth.Status = .online) -> CollectorHealth {
        CollectorHealth(
            status: status, at: Timestamp(microseconds: 0), stored: stored,
            started: started.map(Timestamp.init(microseconds:)), memory: started.map { _ in 1 << 20 })
    }

    @Test("counts start at zero and include all collectors and their restarts")
    func counts() {
        var watch = CollectorWatch()
        watch.record(health(stored: 1000, started: 1), from: "a/main", at: 0)
        watch.record(health(stored: 50, started: 1), from: "b/other", at: 0)
        watch.start()
        #expect(watch.counts.stored == 0)
        watch.record(health(stored: 1100, started: 1), from: "a/main", at: 1)
        watch.record(health(stored: 60, started: 1), from: "b/other", at: 1)
        // Killed: the last will has no counts.
        watch.record(health(stored: 0, started: nil, status: .offline), from: "a/main", at: 2)
        #expect(watch.counts.stored == 110 && watch.restarts == 0)
        watch.record(health(stored: 7, started: 3), from: "a/main", at: 3)
        #expect(watch.counts.stored == 117 && watch.restarts == 1)
    }

    @Test("counts are current once each online collector has reported after the given time")
    func current() {
        var watch = CollectorWatch()
        #expect(!watch.isAnyOnline)
        watch.record(health(stored: 0, started: 1), from: "a/main", at: 0)
        watch.record(health(stored: 0, started: nil, status: .offline), from: "b/gone", at: 0)
        #expect(watch.isAnyOnline && !watch.isCurrent(after: 5))
        watch.record(health(stored: 1, started: 1), from: "a/main", at: 6)
        #expect(watch.isCurrent(after: 5))
    }
}

@Suite("Descriptors")
struct DescriptorTests {
    @Test("a limit of file descriptors that is too low is an error with a suggestion")
    func tooFew() throws {
        try Descriptors.check(connections: 300, limit: 1024)
        let error = #expect(throws: FleetError.self) { try Descriptors.check(connections: 2000, limit: 1024) }
        let text = try #require(error).description
        #expect(text.contains("ulimit -n 6064") && text.contains("--connections 320"))
    }
}
