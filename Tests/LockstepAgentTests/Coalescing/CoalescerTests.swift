import LockstepAgent
import LockstepModel
import LockstepSensors
import LockstepWire
import SensorTestSupport
import Testing

@Suite("The coalescer")
struct CoalescerTests {
    @Test("an empty coalescer has no deadline")
    func empty() {
        var coalescer = Coalescer()
        coalescer.add(block([]), at: 0)
        #expect(coalescer.nextDeadline == nil)
        #expect(coalescer.takeReady(at: .max / 2).isEmpty)
        #expect(coalescer.takeAll().isEmpty)
    }

    @Test("a window starts with the first sample and ends with one batch per stream")
    func window() {
        var coalescer = Coalescer(limits: .init(window: 1000))
        coalescer.add(block([1, 2]), at: 100)
        coalescer.add(block([1], .location), at: 600)
        coalescer.add(block([3]), at: 900)
        #expect(coalescer.nextDeadline == 1100)
        #expect(coalescer.takeReady(at: 1099).isEmpty)
        #expect(coalescer.takeReady(at: 1100).map(\.stream) == [.accelerometer, .location])
        #expect(coalescer.nextDeadline == nil)
        coalescer.add(block([4]), at: 5000)
        #expect(coalescer.nextDeadline == 6000)
        #expect(coalescer.takeReady(at: 9000).map(\.times) == [[4]])
    }

    @Test("a sample with a time far in the future shares its batch with no other")
    func future() {
        var coalescer = Coalescer()
        coalescer.add(block([1, 2, 619_315_200_000_000, 3, 4]), at: 0)
        #expect(coalescer.takeAll().map(\.times) == [[1, 2], [619_315_200_000_000], [3, 4]])
    }

    @Test(
        "the age of the first sample shortens the window by at most a tenth",
        arguments: [(age: Int64(30), deadline: Int64(1070)), (100, 1000), (5000, 1000), (-7, 1100)])
    func age(_ example: (age: Int64, deadline: Int64)) {
        var coalescer = Coalescer(limits: .init(window: 1000))
        coalescer.add(block([1]), at: 100, age: example.age)
        coalescer.add(block([2]), at: 150, age: 90)
        #expect(coalescer.nextDeadline == example.deadline)
    }

    @Test(
        "the recommended linger is a tenth of the window, within limits",
        arguments: [
            (window: Int64(1_000_000), linger: Int64(100_000)), (500_000, 50_000), (100_000, 10_000),
            (50_000, 10_000),
            (0, 10_000), (60_000_000, 100_000),
        ])
    func linger(_ example: (window: Int64, linger: Int64)) {
        #expect(Coalescer.Limits(window: example.window).linger == example.linger)
    }

    @Test("a batch with the maximum number of samples is ready at once")
    func samples() {
        var coalescer = Coalescer(limits: .init(window: 1000, samples: 3))
        coalescer.add(block(1...7), at: 100)
        #expect((coalescer.nextDeadline ?? .max) <= 100)
        #expect(coalescer.takeReady(at: 100).map(\.times) == [[1, 2, 3], [4, 5, 6]])
        #expect(coalescer.takeReady(at: 101).isEmpty)
        #expect(coalescer.takeAll().map(\.times) == [[7]])
    }

    @Test("a new window starts after all samples were taken as full batches")
    func windowAfterFull() {
        var coalescer = Coalescer(limits: .init(window: 1000, samples: 2))
        coalescer.add(block([1, 2]), at: 100)
        #expect(coalescer.takeReady(at: 100).count == 1)
        let emptyDeadline = coalescer.nextDeadline
        coalescer.add(block([3]), at: 900)
        let nextDeadline = coalescer.nextDeadline
        #expect(emptyDeadline == nil)
        #expect(nextDeadline == 1900)
    }

    @Test("no batch with several samples exceeds the packet limit of the broker", arguments: [800, 1500, 3000, 20_000])
    func packetLimit(_ size: Int) {
        for stream in SensorStream.builtIn {
            var coalescer = Coalescer(limits: .init(window: 1_000_000, samples: 1000))
            coalescer.packetLimit = size
            var samples = SampleBlock(stream: stream)
            for index in 0..<500 as Range<Int64> {
                let values = stream.columns.map { column -> Double in
                    switch column.kind {
                    case .real: -1.2345678901234567e-101
                    case .integer: -9_007_199_254_740_991
                    case .choice: 1.0
                    }
                }
                samples.append(time: Timestamp(microseconds: start + index * 1_000_000_007 + index % 2), values: values)
            }
            coalescer.add(samples, at: 0)
            for batch in coalescer.takeAll() {
                let position = BatchPosition(epoch: .random(), seq: .max)
                let bytes = BatchJSON.encode(Batch(position: position, isLive: false, samples: batch)).count
                #expect(bytes <= size - 200 || batch.count == 1, "\(stream): \(bytes)")
            }
        }
    }

    @Test(
        "a batch with the maximum number of bytes is ready at once",
        arguments: [(400, 10), (4000, 100), (1, 1), (0, 1)])
    func bytes(_ bytes: Int, _ count: Int) {
        var coalescer = Coalescer(limits: .init(bytes: bytes))
        coalescer.add(block(1...Int64(2 * count + 1)), at: 0)
        #expect(coalescer.takeReady(at: 0).prefix(2).map(\.count) == [count, count])
    }

    @Test("a new batch starts if the time does not increase")
    func backInTime() {
        var coalescer = Coalescer()
        coalescer.add(block([1, 2, 3, 2, 4, 4]), at: 0)
        coalescer.add(block([4, 5]), at: 0)
        #expect(coalescer.takeAll().map(\.times) == [[1, 2, 3], [2, 4], [4], [4, 5]])
    }

    @Test("no sample is lost, the samples of a stream keep their order, and batches keep the limits")
    func randomized() {
        var (random, seed) = seeded("coalescer")
        for _ in 0..<100 {
            let limit = Int.random(in: 1...30, using: &random)
            var coalescer = Coalescer(limits: .init(window: .random(in: 0...500, using: &random), samples: limit))
            var given: [SensorStream: [[Double]]] = [:]
            var taken: [SampleBlock] = []
            var boot: Int64 = 0
            for _ in 0..<60 {
                boot += .random(in: 0...200, using: &random)
                let stream = [SensorStream.accelerometer, .steps, .location].randomElement(using: &random) ?? .steps
                let times = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                    Int64.random(in: 0...99, using: &random)
                }
                let samples = block(times, stream, x: Double(given[stream]?.count ?? 0))
                for index in 0..<samples.count {
                    given[stream, default: []].append([Double(times[index])] + samples.values(at: index))
                }
                coalescer.add(samples, at: boot)
                if Bool.random(using: &random) { taken += coalescer.takeReady(at: boot) }
            }
            taken += coalescer.takeAll()
            for (stream, expected) in given {
                let batches = taken.filter { $0.stream == stream }
                let samples = batches.flatMap { batch in
                    (0..<batch.count).map { [Double(batch.times[$0])] + batch.values(at: $0) }
                }
                #expect(samples == expected, "seed \(seed)")
                #expect(batches.allSatisfy { !$0.isEmpty && $0.count <= limit }, "seed \(seed)")
                #expect(batches.allSatisfy { zip($0.times, $0.times.dropFirst()).allSatisfy(<) }, "seed \(seed)")
            }
            #expect(coalescer.takeAll().isEmpty && coalescer.nextDeadline == nil, "seed \(seed)")
        }
    }
}
