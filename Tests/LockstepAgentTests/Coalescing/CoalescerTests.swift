import LockstepAgent
import LockstepModel
import LockstepSensors
import LockstepWire
import SensorTestSupport
import Testing

@Suite("The coalescer")
struct CoalescerTests {
    @Test("waits for nothing while it is empty")
    func empty() {
        var coalescer = Coalescer()
        coalescer.add(block([]), at: 0)
        #expect(coalescer.nextDue == nil)
        #expect(coalescer.takeDue(at: .max / 2).isEmpty)
        #expect(coalescer.takeAll().isEmpty)
    }

    @Test("gives one batch a stream when the window is over, which begins with the first sample")
    func window() {
        var coalescer = Coalescer(limits: .init(window: 1000))
        coalescer.add(block([1, 2]), at: 100)
        coalescer.add(block([1], .location), at: 600)
        coalescer.add(block([3]), at: 900)
        #expect(coalescer.nextDue == 1100)
        #expect(coalescer.takeDue(at: 1099).isEmpty)
        #expect(coalescer.takeDue(at: 1100).map(\.stream) == [.accelerometer, .location])
        #expect(coalescer.nextDue == nil)
        coalescer.add(block([4]), at: 5000)
        #expect(coalescer.nextDue == 6000)
        #expect(coalescer.takeDue(at: 9000).map(\.times) == [[4]])
    }

    @Test(
        "counts the time that the first sample took to come, up to a tenth of the window",
        arguments: [(age: Int64(30), due: Int64(1070)), (100, 1000), (5000, 1000), (-7, 1100)])
    func age(_ example: (age: Int64, due: Int64)) {
        var coalescer = Coalescer(limits: .init(window: 1000))
        coalescer.add(block([1]), at: 100, age: example.age)
        coalescer.add(block([2]), at: 150, age: 90)
        #expect(coalescer.nextDue == example.due)
    }

    @Test(
        "lets samples gather for a tenth of the window, within bounds",
        arguments: [
            (window: Int64(1_000_000), gathering: Int64(100_000)), (500_000, 50_000), (100_000, 10_000),
            (50_000, 10_000),
            (0, 10_000), (60_000_000, 100_000),
        ])
    func gathering(_ example: (window: Int64, gathering: Int64)) {
        #expect(Coalescer.Limits(window: example.window).gathering == example.gathering)
    }

    @Test("gives a batch at once when it has enough samples, and never more")
    func samples() {
        var coalescer = Coalescer(limits: .init(window: 1000, samples: 3))
        coalescer.add(block(1...7), at: 100)
        #expect((coalescer.nextDue ?? .max) <= 100)
        #expect(coalescer.takeDue(at: 100).map(\.times) == [[1, 2, 3], [4, 5, 6]])
        #expect(coalescer.takeDue(at: 101).isEmpty)
        #expect(coalescer.takeAll().map(\.times) == [[7]])
    }

    @Test("starts a new window where everything has left as full batches")
    func windowAfterFull() {
        var coalescer = Coalescer(limits: .init(window: 1000, samples: 2))
        coalescer.add(block([1, 2]), at: 100)
        #expect(coalescer.takeDue(at: 100).count == 1)
        let due = coalescer.nextDue
        coalescer.add(block([3]), at: 900)
        let next = coalescer.nextDue
        #expect(due == nil)
        #expect(next == 1900)
    }

    @Test("never gives more than the broker takes as one packet", arguments: [800, 1500, 3000, 20_000])
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

    @Test("gives a batch at once when it has enough bytes", arguments: [(400, 10), (4000, 100), (1, 1), (0, 1)])
    func bytes(_ bytes: Int, _ count: Int) {
        var coalescer = Coalescer(limits: .init(bytes: bytes))
        coalescer.add(block(1...Int64(2 * count + 1)), at: 0)
        #expect(coalescer.takeDue(at: 0).prefix(2).map(\.count) == [count, count])
    }

    @Test("opens a new batch where time goes back or stands")
    func backInTime() {
        var coalescer = Coalescer()
        coalescer.add(block([1, 2, 3, 2, 4, 4]), at: 0)
        coalescer.add(block([4, 5]), at: 0)
        #expect(coalescer.takeAll().map(\.times) == [[1, 2, 3], [2, 4], [4], [4, 5]])
    }

    @Test("loses nothing and keeps the order within a stream, within its limits")
    func randomized() {
        var (random, seed) = seeded("coalescer")
        for _ in 0..<100 {
            let most = Int.random(in: 1...30, using: &random)
            var coalescer = Coalescer(limits: .init(window: .random(in: 0...500, using: &random), samples: most))
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
                if Bool.random(using: &random) { taken += coalescer.takeDue(at: boot) }
            }
            taken += coalescer.takeAll()
            for (stream, expected) in given {
                let batches = taken.filter { $0.stream == stream }
                let samples = batches.flatMap { batch in
                    (0..<batch.count).map { [Double(batch.times[$0])] + batch.values(at: $0) }
                }
                #expect(samples == expected, "seed \(seed)")
                #expect(batches.allSatisfy { !$0.isEmpty && $0.count <= most }, "seed \(seed)")
                #expect(batches.allSatisfy { zip($0.times, $0.times.dropFirst()).allSatisfy(<) }, "seed \(seed)")
            }
            #expect(coalescer.takeAll().isEmpty && coalescer.nextDue == nil, "seed \(seed)")
        }
    }
}
