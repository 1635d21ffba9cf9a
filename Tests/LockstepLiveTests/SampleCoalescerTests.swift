import LockstepModel
import Testing

@testable import LockstepLive

@Suite("SampleCoalescer")
struct SampleCoalescerTests {
    private var coalescer = SampleCoalescer(maxBytes: 1_000_000)
    private let tenHertz = channel(rate: 10)

    private static func channel(rate: Double, stream: Int = 0) -> SampleCoalescer.Channel {
        .init(
            stream: StreamKey(device: 0, stream: stream),
            rate: SampleRequest(devices: nil, streams: nil, hz: rate).rate)
    }

    private init() {}

    /// Removes the samples that are due at each step of 5 ms.
    private mutating func outputs(from start: Double, to end: Double) -> [(at: Double, SampleCoalescer.Output)] {
        var outputs: [(at: Double, SampleCoalescer.Output)] = []
        for step in 0...Int(((end - start) * 200).rounded()) {
            let now = start + Double(step) / 200
            while let output = coalescer.removeFirst(at: moment(now).boot) { outputs.append((now, output)) }
        }
        return outputs
    }

    @Test("the first samples are due almost at once")
    mutating func first() throws {
        coalescer.add(samples(5, from: 0), to: tenHertz, at: moment(3).boot)
        let due = try #require(coalescer.nextDeadline) - moment(3).boot
        #expect(due == 5000)
        #expect(coalescer.removeFirst(at: moment(3.004).boot) == nil)
        #expect(coalescer.removeFirst(at: moment(3.010).boot)?.samples == samples(5, from: 0))
        #expect(coalescer.removeFirst(at: moment(4).boot) == nil)
    }

    @Test("at most ten events a second contain all samples in order", arguments: [0.002, 0.01, 0.033, 0.25])
    mutating func rate(interval: Double) {
        var expected = SampleBlock(stream: .accelerometer)
        var found = SampleBlock(stream: .accelerometer)
        var times: [Double] = []
        for step in 0..<Int(3 / interval) {
            let now = Double(step) * interval
            coalescer.add(samples(2, from: now), to: tenHertz, at: moment(now).boot)
            expected.append(contentsOf: samples(2, from: now))
            for (at, output) in outputs(from: now, to: now + interval) {
                times.append(at)
                if let samples = output.samples { found.append(contentsOf: samples) }
            }
        }
        for (at, output) in outputs(from: 3, to: 4) {
            times.append(at)
            if let samples = output.samples { found.append(contentsOf: samples) }
        }
        #expect(found == expected)
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 >= 0.0999 }, "\(times)")
        #expect(coalescer.bytes == 0)
    }

    @Test("streams whose samples arrive within a few milliseconds are due together")
    mutating func together() {
        for round in 0..<20 {
            let start = Double(round) / 10
            for stream in 0..<3 {
                coalescer.add(
                    samples(10, from: start), to: Self.channel(rate: 10, stream: stream),
                    at: moment(start + Double(stream) / 2000).boot)
            }
            let times = outputs(from: start, to: start + 0.095).map(\.at)
            #expect(times.count == 3 && Set(times).count == 1, "\(times)")
        }
    }

    @Test("if too many samples wait, further ones are counted as dropped")
    mutating func full() {
        coalescer = SampleCoalescer(maxBytes: 2 * RecentSamples.memory(of: samples(100, from: 0)))
        for second in 0..<5 {
            coalescer.add(samples(100, from: Double(second)), to: Self.channel(rate: 0.1), at: moment(0).boot)
        }
        let output = coalescer.removeFirst(at: moment(1).boot)
        #expect(output?.samples?.count == 200)
        #expect(output?.dropped == 300)
        #expect(coalescer.bytes == 0)
        coalescer.add(samples(100, from: 9), to: Self.channel(rate: 0.1), at: moment(9).boot)
        #expect(coalescer.removeFirst(at: moment(10.9).boot) == nil, "the interval is ten seconds")
        #expect(coalescer.removeFirst(at: moment(11.01).boot)?.samples?.count == 100)
    }

    @Test("a removed channel frees its samples and is not due")
    mutating func removal() {
        coalescer.add(samples(100, from: 0), to: tenHertz, at: moment(0).boot)
        coalescer.remove(tenHertz)
        #expect(coalescer.bytes == 0)
        #expect(coalescer.removeFirst(at: moment(1).boot) == nil)
    }

    @Test("an event rate is reduced to one that subscribers share")
    func rates() {
        let rates = [0.01, 0.1, 7, 10, 59, 60, 1000].map { SampleRequest(devices: nil, streams: nil, hz: $0).hz }
        #expect(rates == [0.1, 0.1, 5, 10, 30, 60, 60])
    }
}
