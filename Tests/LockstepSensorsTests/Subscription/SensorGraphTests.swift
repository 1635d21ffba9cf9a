import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("The sensor graph")
struct SensorGraphTests {
    /// A source that is never run: what the graph asks is all that counts.
    private struct Sensors: SensorSource {
        var name = "sensors"
        var streams: [SensorStream] = [.accelerometer, .gyroscope, .location]
        var own: Double? = 100

        func nativeRate(of stream: SensorStream) -> Double? { own }
        func run(into sink: any SampleSink) async throws {}
    }

    private func graph(_ source: Sensors = Sensors()) -> SensorGraph { SensorGraph(sources: [source]) }

    /// One second of the accelerometer at `rate`, face up, from second `second` on.
    private func resting(at rate: Int64, from second: Int64, seconds: Int64 = 1) -> SampleBlock {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<rate * seconds {
            block.append(
                time: Timestamp(microseconds: start + second * 1_000_000 + index * 1_000_000 / rate),
                values: [0, 0, -1])
        }
        return block
    }

    @Test("runs a sensor at the fastest rate that anyone asks for, and stops it when nobody asks")
    func fastest() {
        var graph = graph()
        let (slow, fast) = (graph.addSubscriber(), graph.addSubscriber())
        #expect(graph.sourceRates.isEmpty)
        _ = graph.ask(slow, for: [.accelerometer: SensorRequest(rate: 10), .location: .everything])
        #expect(graph.sourceRates == [.accelerometer: 10, .location: .infinity])
        _ = graph.ask(fast, for: [.accelerometer: SensorRequest(rate: 200), .gyroscope: SensorRequest(rate: 50)])
        #expect(graph.sourceRates == [.accelerometer: 200, .gyroscope: 50, .location: .infinity])
        _ = graph.ask(slow, for: [:])
        #expect(graph.sourceRates == [.accelerometer: 200, .gyroscope: 50])
        _ = graph.ask(fast, for: [:])
        #expect(graph.sourceRates.isEmpty)
    }

    @Test("leaves a source its own pace, unless someone wants more than that")
    func ownPace() {
        var graph = graph()
        let (all, fast) = (graph.addSubscriber(), graph.addSubscriber())
        _ = graph.ask(all, for: [.gyroscope: .everything])
        _ = graph.ask(fast, for: [.gyroscope: SensorRequest(rate: 50)])
        #expect(graph.sourceRates == [.gyroscope: .infinity])
        _ = graph.ask(fast, for: [.gyroscope: SensorRequest(rate: 400)])
        #expect(graph.sourceRates == [.gyroscope: 400])
        _ = graph.ask(fast, for: [:])
        _ = graph.ask(all, for: [.gyroscope: SensorRequest(rate: .infinity, minimum: 300)])
        #expect(graph.sourceRates == [.gyroscope: 300])
        // A pace that can't be changed is all that there is.
        var fixed = self.graph(Sensors(own: nil))
        let subscriber = fixed.addSubscriber()
        _ = fixed.ask(subscriber, for: [.gyroscope: SensorRequest(rate: .infinity, minimum: 300)])
        #expect(fixed.sourceRates == [.gyroscope: .infinity])
    }

    @Test("gives each subscriber its own rate from one sensor")
    func rates() {
        var graph = graph()
        let (slow, fast, all) = (graph.addSubscriber(), graph.addSubscriber(), graph.addSubscriber())
        _ = graph.ask(slow, for: [.accelerometer: SensorRequest(rate: 10)])
        _ = graph.ask(fast, for: [.accelerometer: SensorRequest(rate: 50)])
        _ = graph.ask(all, for: [.accelerometer: .everything])
        var counts: [Subscriber: Int] = [:]
        for second in 0..<10 as Range<Int64> {
            for output in graph.update(resting(at: 200, from: second)) {
                counts[output.subscriber, default: 0] += output.samples.count
                #expect(output.samples.columns[2].allSatisfy { abs($0 + 1) < 1e-9 })
            }
        }
        for output in graph.restart() { counts[output.subscriber, default: 0] += output.samples.count }
        #expect(counts[all] == 2000)
        #expect((498...501).contains(counts[fast] ?? 0))
        #expect((98...101).contains(counts[slow] ?? 0))
    }

    @Test("has the streams that can be worked out from those that are there")
    func derivable() {
        #expect(graph().streams.contains(.steps))
        #expect(!graph(Sensors(streams: [.location])).streams.contains(.steps))
        #expect(graph(Sensors(streams: [.steps])).streams == [.steps])
    }

    @Test("asks for what a derived stream needs, only while someone asks for that stream")
    func derivedInputs() throws {
        var graph = graph()
        let subscriber = graph.addSubscriber()
        _ = graph.ask(subscriber, for: [.steps: .everything])
        let rate = try #require(graph.sourceRates[.accelerometer])
        #expect(rate >= 25 && rate <= 100)
        #expect(graph.sourceRates.count == 1)
        // Nobody asked for the accelerometer itself.
        #expect(graph.update(resting(at: 50, from: 0)).isEmpty)
        _ = graph.ask(subscriber, for: [:])
        #expect(graph.sourceRates.isEmpty)
    }

    @Test("gives what was counted, and not yet told, to the last who asked")
    func leftovers() {
        var schedule = SimulationSchedule(body: WalkingBody(seed: 3), rate: 100, start: start)
        var graph = graph()
        let subscriber = graph.addSubscriber()
        _ = graph.ask(subscriber, for: [.steps: .everything])
        var told = 0.0
        // Into the first walk, and then no more.
        for tick in 1...180 as ClosedRange<Int64> {
            for block in schedule.take(through: start + tick * 100_000) {
                for output in graph.update(block) { told += output.samples.columns[1].reduce(0, +) }
            }
        }
        let rest = graph.ask(subscriber, for: [:]).flatMap(\.samples.columns[1]).reduce(0, +)
        let truth = Double(WalkingBody(seed: 3).steps(at: 18))
        #expect(abs(told + rest - truth) <= 2, "\(told) and \(rest) of \(truth)")
    }

    @Test("changes a rate without a gap and without going back in time")
    func changingRates() {
        var graph = graph()
        let subscriber = graph.addSubscriber()
        var times: [Int64] = []
        for second in 0..<12 as Range<Int64> {
            let rates: [Double] = [.infinity, 50, 20, 100]
            let request = SensorRequest(rate: rates[Int(second / 3)])
            for output in graph.ask(subscriber, for: [.accelerometer: request]) { times += output.samples.times }
            for output in graph.update(resting(at: 100, from: second)) { times += output.samples.times }
        }
        for output in graph.restart() { times += output.samples.times }
        let steps = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(steps.allSatisfy { $0 > 0 })
        #expect((steps.max() ?? 0) <= 100_000)
        #expect(times.count > 300 + 140 + 55 + 290)
    }

    @Test("gives a location only where it has moved as far as asked")
    func significantChange() {
        var graph = graph()
        let subscriber = graph.addSubscriber()
        _ = graph.ask(subscriber, for: [.location: SensorRequest(rate: .infinity, distance: 500)])
        var given: [Double] = []
        for second in 0..<100 as Range<Int64> {
            var fix = SampleBlock(stream: .location)
            // About 11 m north a second.
            let latitude = 48 + Double(second) * 0.0001
            fix.append(
                time: Timestamp(microseconds: start + second * 1_000_000),
                values: [latitude, 11, .nan, 5, .nan, 11, 0, 3, .nan])
            given += graph.update(fix).flatMap { $0.samples.columns[0] }
        }
        #expect(given.count == 3)
        #expect(zip(given.dropFirst(), given).allSatisfy { (0.0044...0.0056).contains($0 - $1) })
    }

    @Test("tells how a device is held, once for each change")
    func orientation() {
        var graph = graph()
        let subscriber = graph.addSubscriber()
        _ = graph.ask(subscriber, for: [.orientation: .everything])
        var values: [Double] = []
        for second in 0..<5 as Range<Int64> {
            values += graph.update(resting(at: 100, from: second)).flatMap { $0.samples.columns[0] }
        }
        #expect(values == [4], "face up")
    }

    @Test("after a restart takes earlier times, at every rate")
    func earlier() {
        var graph = SensorGraph(sources: [Sensors(streams: [.accelerometer, .gyroscope, .location])])
        let (all, slow) = (graph.addSubscriber(), graph.addSubscriber())
        _ = graph.ask(all, for: [.accelerometer: .everything])
        _ = graph.ask(slow, for: [.accelerometer: SensorRequest(rate: 20), .deviceMotion: SensorRequest(rate: 50)])
        func count(from second: Int64) -> [SensorStream: Int] {
            var counts: [SensorStream: Int] = [:]
            for next in second..<second + 10 {
                let block = resting(at: 100, from: next)
                let turning = SampleBlock(
                    stream: .gyroscope, times: block.times, columns: block.columns.map { $0.map { _ in 0 } })
                for output in graph.update(block) + graph.update(turning) where output.subscriber == slow {
                    counts[output.samples.stream, default: 0] += output.samples.count
                }
            }
            for output in graph.restart() where output.subscriber == slow {
                counts[output.samples.stream, default: 0] += output.samples.count
            }
            return counts
        }
        let before = count(from: 4000)
        #expect(before[.accelerometer] ?? 0 > 190 && before[.deviceMotion] ?? 0 > 490)
        #expect(count(from: 400) == before)
    }

    @Test("restarts what is made of a source that has ended, and nothing else")
    func partly() {
        var graph = SensorGraph(sources: [Sensors(streams: [.accelerometer, .gyroscope, .location])])
        let subscriber = graph.addSubscriber()
        _ = graph.ask(subscriber, for: [.accelerometer: SensorRequest(rate: 20), .location: SensorRequest(rate: 1)])
        for second in 0..<3 as Range<Int64> { _ = graph.update(resting(at: 100, from: second)) }
        #expect(graph.restart(of: [.location]).isEmpty)
        let rest = graph.restart(of: [.accelerometer])
        #expect(rest.map(\.samples.stream) == [.accelerometer])
    }
}
