import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("The sensor graph")
struct SensorGraphTests {
    /// A source that is never run; only its description matters to the graph.
    private struct Sensors: SensorSource {
        var name = "sensors"
        var streams: [SensorStream] = [.accelerometer, .gyroscope, .location]
        var rate: Double? = 100
        var fastest: Double?

        func sensors() -> [SensorDescription] {
            streams.map { SensorDescription(name: name, stream: $0, rates: fastest.map { 1...$0 }) }
        }
        func nativeRate(of stream: SensorStream) -> Double? { rate }
        func run(into sink: any SampleSink) async throws {}
    }

    private func graph(_ source: Sensors = Sensors()) -> SensorGraph { SensorGraph(sources: [source]) }

    /// Returns accelerometer samples at `rate`, at rest face up, for `seconds` from second `second` on.
    private func resting(at rate: Int64, from second: Int64, seconds: Int64 = 1) -> SampleBlock {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<rate * seconds {
            block.append(
                time: Timestamp(microseconds: start + second * 1_000_000 + index * 1_000_000 / rate),
                values: [0, 0, -1])
        }
        return block
    }

    @Test("runs a sensor at the fastest requested rate and stops it without requests")
    func fastest() {
        var graph = graph()
        let (slow, fast) = (graph.addSubscriber(), graph.addSubscriber())
        #expect(graph.sourceRates.isEmpty)
        _ = graph.setRequests([.accelerometer: SensorRequest(rate: 10), .location: .everything], for: slow)
        #expect(graph.sourceRates == [.accelerometer: 10, .location: .infinity])
        _ = graph.setRequests(
            [.accelerometer: SensorRequest(rate: 200), .gyroscope: SensorRequest(rate: 50)], for: fast)
        #expect(graph.sourceRates == [.accelerometer: 200, .gyroscope: 50, .location: .infinity])
        _ = graph.setRequests([:], for: slow)
        #expect(graph.sourceRates == [.accelerometer: 200, .gyroscope: 50])
        _ = graph.setRequests([:], for: fast)
        #expect(graph.sourceRates.isEmpty)
    }

    @Test("after a position with a time in the future, later ones still pass a limited rate")
    func timeInTheFuture() {
        var graph = graph()
        let slow = graph.addSubscriber()
        _ = graph.setRequests([.location: SensorRequest(rate: 0.5)], for: slow)
        var passed: [Int64] = []
        for second in [600] + Array(1...40) {
            var block = SampleBlock(stream: .location)
            block.append(
                time: Timestamp(microseconds: start + Int64(second) * 1_000_000),
                values: [48, 11, .nan, .nan, .nan, .nan, .nan, 3, .nan])
            passed += graph.update(block).flatMap { $0.samples.times }
        }
        #expect((20...30).contains(passed.count))
        #expect(passed.last.map { $0 >= start + 39_000_000 } == true)
    }

    @Test("keeps the native rate of a source unless a faster one is requested")
    func nativeRate() {
        var graph = graph()
        let (all, fast) = (graph.addSubscriber(), graph.addSubscriber())
        _ = graph.setRequests([.gyroscope: .everything], for: all)
        _ = graph.setRequests([.gyroscope: SensorRequest(rate: 50)], for: fast)
        #expect(graph.sourceRates == [.gyroscope: .infinity])
        _ = graph.setRequests([.gyroscope: SensorRequest(rate: 400)], for: fast)
        #expect(graph.sourceRates == [.gyroscope: 400])
        _ = graph.setRequests([:], for: fast)
        _ = graph.setRequests([.gyroscope: SensorRequest(rate: .infinity, minimum: 300)], for: all)
        #expect(graph.sourceRates == [.gyroscope: 300])
        // A source without a native rate has a fixed rate, which cannot be raised.
        var fixed = self.graph(Sensors(rate: nil))
        let subscriber = fixed.addSubscriber()
        _ = fixed.setRequests([.gyroscope: SensorRequest(rate: .infinity, minimum: 300)], for: subscriber)
        #expect(fixed.sourceRates == [.gyroscope: .infinity])
    }

    @Test("the resulting rate of a request is at most the fastest one of the sensor, if that is known")
    func fastestRate() {
        let unknown = graph()
        let known = graph(Sensors(fastest: 250))
        for (request, rates) in [
            (SensorRequest(rate: 100), (100.0, 100.0)), (SensorRequest(rate: 400), (400, 250)),
            (SensorRequest(rate: .infinity), (.infinity, .infinity)),
            (SensorRequest(rate: .infinity, minimum: 400), (400, 250)),
        ] {
            #expect(unknown.rate(of: request, for: .gyroscope) == rates.0)
            #expect(known.rate(of: request, for: .gyroscope) == rates.1)
        }
        // Of two sources, the faster one counts, and one with an unknown limit may be faster.
        let (slow, fast, other) = (Sensors(fastest: 250), Sensors(fastest: 300), Sensors())
        let request = SensorRequest(rate: 400)
        #expect(SensorGraph(sources: [slow, fast]).rate(of: request, for: .gyroscope) == 300)
        #expect(SensorGraph(sources: [slow, other]).rate(of: request, for: .gyroscope) == 400)
        #expect(SensorGraph(sources: [other, slow]).rate(of: request, for: .gyroscope) == 400)
    }

    @Test("gives each subscriber its own rate from one sensor")
    func rates() {
        var graph = graph()
        let (slow, fast, all) = (graph.addSubscriber(), graph.addSubscriber(), graph.addSubscriber())
        _ = graph.setRequests([.accelerometer: SensorRequest(rate: 10)], for: slow)
        _ = graph.setRequests([.accelerometer: SensorRequest(rate: 50)], for: fast)
        _ = graph.setRequests([.accelerometer: .everything], for: all)
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

    @Test("derives the streams whose inputs are available")
    func derivable() {
        #expect(graph().streams.contains(.steps))
        #expect(!graph(Sensors(streams: [.location])).streams.contains(.steps))
        #expect(graph(Sensors(streams: [.steps])).streams == [.steps])
    }

    @Test("requests the inputs of a derived stream only while that stream is requested")
    func derivedInputs() throws {
        var graph = graph()
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.steps: .everything], for: subscriber)
        let rate = try #require(graph.sourceRates[.accelerometer])
        #expect(rate >= 25 && rate <= 100)
        #expect(graph.sourceRates.count == 1)
        // The accelerometer itself has no subscriber.
        #expect(graph.update(resting(at: 50, from: 0)).isEmpty)
        _ = graph.setRequests([:], for: subscriber)
        #expect(graph.sourceRates.isEmpty)
    }

    @Test("delivers pending steps when the last subscriber leaves")
    func pendingSteps() {
        var schedule = SimulationSchedule(body: WalkingBody(seed: 3), rate: 100, start: start)
        var graph = graph()
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.steps: .everything], for: subscriber)
        var delivered = 0.0
        // 18 s end in the middle of the first walk.
        for tick in 1...180 as ClosedRange<Int64> {
            for block in schedule.take(through: start + tick * 100_000) {
                for output in graph.update(block) { delivered += output.samples.columns[1].reduce(0, +) }
            }
        }
        let rest = graph.setRequests([:], for: subscriber).flatMap(\.samples.columns[1]).reduce(0, +)
        let truth = Double(WalkingBody(seed: 3).steps(at: 18))
        #expect(abs(delivered + rest - truth) <= 2, "\(delivered) and \(rest) of \(truth)")
    }

    @Test("changes a rate without a gap and without going back in time")
    func changingRates() {
        var graph = graph()
        let subscriber = graph.addSubscriber()
        var times: [Int64] = []
        for second in 0..<12 as Range<Int64> {
            let rates: [Double] = [.infinity, 50, 20, 100]
            let request = SensorRequest(rate: rates[Int(second / 3)])
            for output in graph.setRequests([.accelerometer: request], for: subscriber) {
                times += output.samples.times
            }
            for output in graph.update(resting(at: 100, from: second)) { times += output.samples.times }
        }
        for output in graph.restart() { times += output.samples.times }
        let steps = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(steps.allSatisfy { $0 > 0 })
        #expect((steps.max() ?? 0) <= 100_000)
        #expect(times.count > 300 + 140 + 55 + 290)
    }

    @Test("delivers a location only after the requested distance")
    func significantChange() {
        var graph = graph()
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.location: SensorRequest(rate: .infinity, distance: 500)], for: subscriber)
        var given: [Double] = []
        for second in 0..<100 as Range<Int64> {
            var fix = SampleBlock(stream: .location)
            // About 11 m/s northward.
            let latitude = 48 + Double(second) * 0.0001
            fix.append(
                time: Timestamp(microseconds: start + second * 1_000_000),
                values: [latitude, 11, .nan, 5, .nan, 11, 0, 3, .nan])
            given += graph.update(fix).flatMap { $0.samples.columns[0] }
        }
        #expect(given.count == 3)
        #expect(zip(given.dropFirst(), given).allSatisfy { (0.0044...0.0056).contains($0 - $1) })
    }

    @Test("delivers each change of the orientation once")
    func orientation() {
        var graph = graph()
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.orientation: .everything], for: subscriber)
        var values: [Double] = []
        for second in 0..<5 as Range<Int64> {
            values += graph.update(resting(at: 100, from: second)).flatMap { $0.samples.columns[0] }
        }
        #expect(values == [4], "face up")
    }

    @Test("accepts earlier times after a restart, at every rate")
    func earlier() {
        var graph = SensorGraph(sources: [Sensors(streams: [.accelerometer, .gyroscope, .location])])
        let (all, slow) = (graph.addSubscriber(), graph.addSubscriber())
        _ = graph.setRequests([.accelerometer: .everything], for: all)
        _ = graph.setRequests(
            [.accelerometer: SensorRequest(rate: 20), .deviceMotion: SensorRequest(rate: 50)], for: slow)
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

    @Test("restarts only the streams of a source that has ended")
    func partly() {
        var graph = SensorGraph(sources: [Sensors(streams: [.accelerometer, .gyroscope, .location])])
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests(
            [.accelerometer: SensorRequest(rate: 20), .location: SensorRequest(rate: 1)], for: subscriber)
        for second in 0..<3 as Range<Int64> { _ = graph.update(resting(at: 100, from: second)) }
        #expect(graph.restart(of: [.location]).isEmpty)
        let rest = graph.restart(of: [.accelerometer])
        #expect(rest.map(\.samples.stream) == [.accelerometer])
    }
}
