import LockstepModel
import LockstepMotion
import LockstepSensors
import Testing

/// A source that is never run; only its description matters to the graph.
private struct DescribedSource: SensorSource {
    var name: String { "described" }
    var streams: [SensorStream]
    var rates: [SensorStream: Double] = [:]
    func nativeRate(of stream: SensorStream) -> Double? { rates[stream] }
    func run(into sink: any SampleSink) async {}
}

@Suite("Derived streams in the sensor graph")
struct DerivedStreamGraphTests {
    private let motion: [SensorStream] = [.accelerometer, .gyroscope, .magnetometer]

    private func graph(_ streams: [SensorStream], options: DerivedOptions = DerivedOptions()) -> SensorGraph {
        SensorGraph(sources: [DescribedSource(streams: streams)], options: options)
    }

    @Test("a heading needs a magnetometer and a reference frame aligned with north")
    func headingAvailability() {
        #expect(graph(motion).streams.contains(.heading))
        #expect(!graph([.accelerometer, .gyroscope]).streams.contains(.heading))
        for frame in AttitudeReferenceFrame.allCases {
            var options = DerivedOptions()
            options.deviceMotion.referenceFrame = frame
            let hasNorth = frame == .magneticNorth || frame == .trueNorth
            #expect(graph(motion, options: options).streams.contains(.heading) == hasNorth)
        }
        #expect(graph([.deviceMotion]).streams == [.deviceMotion, .heading])
    }

    @Test("an altitude needs the pressure, and is not derived if a source provides it")
    func altitudeAvailability() {
        #expect(graph([.pressure]).streams == [.pressure, .altitude])
        #expect(!graph([.accelerometer]).streams.contains(.altitude))
        var provided = graph([.pressure, .altitude])
        let subscriber = provided.addSubscriber()
        _ = provided.setRequests([.altitude: .everything], for: subscriber)
        #expect(provided.sourceRates == [.altitude: .infinity])
    }

    @Test("floors need a pressure and steps, which may be derived themselves or be counted by hardware")
    func floorAvailability() {
        #expect(!graph([.accelerometer]).streams.contains(.floors) && !graph([.pressure]).streams.contains(.floors))
        #expect(graph([.steps, .pressure]).streams == [.steps, .floors, .pressure, .altitude])
        var graph = graph([.accelerometer, .pressure])
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.floors: .everything], for: subscriber)
        #expect(graph.sourceRates == [.accelerometer: 50, .pressure: 1])
    }

    @Test("a climb with steps yields a row of floors")
    func floors() {
        var graph = graph([.steps, .pressure])
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.floors: .everything], for: subscriber)
        var rows = SampleBlock(stream: .floors)
        for second in 1...60 as ClosedRange<Int64> {
            let time = second * 1_000_000
            // 0.25 m/s for 12 s.
            let pressure = StandardAtmosphere.pressure(at: Double(min(max(0, second - 20), 12)) / 4)
            let steps = [Double(time - 1_000_000), 2, .nan, .nan, .nan, .nan].map { [$0] }
            for block in [
                SampleBlock(stream: .pressure, times: [time], columns: [[pressure]]),
                SampleBlock(stream: .steps, times: [time], columns: steps),
            ] {
                for output in graph.update(block) where output.samples.stream == .floors {
                    rows.append(contentsOf: output.samples)
                }
            }
        }
        #expect(rows.columns[1] == [1] && rows.columns[2] == [0])
        #expect((28_000_000...34_000_000).contains(rows.times.first ?? 0))
    }

    @Test("a stream derived from a derived stream requests the inputs of both, and the location without a declination")
    func chain() {
        var options = DerivedOptions()
        options.deviceMotion.declination = 0.1
        var graph = graph(motion + [.location], options: options)
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.heading: SensorRequest(rate: 10)], for: subscriber)
        #expect(graph.sourceRates == [.accelerometer: 100, .gyroscope: 100, .magnetometer: 25])
        _ = graph.setRequests([:], for: subscriber)
        #expect(graph.sourceRates.isEmpty)

        var modelled = self.graph(motion + [.location])
        let other = modelled.addSubscriber()
        _ = modelled.setRequests([.heading: SensorRequest(rate: 10)], for: other)
        #expect(modelled.sourceRates[.location] == 0.1)
    }

    @Test("a derived stream that another one still needs keeps its state when its own subscription ends")
    func sharedInput() {
        var graph = graph([.deviceMotion, .magnetometer])
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.deviceMotion: .everything, .heading: .everything], for: subscriber)
        _ = graph.setRequests([.heading: .everything], for: subscriber)
        #expect(graph.sourceRates == [.deviceMotion: 100])
    }

    @Test("the altitude starts at 0 for each subscription and after a restart")
    func altitudeStart() {
        var graph = graph([.pressure])
        func altitudes(_ pressures: [Double], _ graph: inout SensorGraph) -> [Double] {
            let block = SampleBlock(
                stream: .pressure, times: pressures.indices.map { Int64($0) * 1_000_000 }, columns: [pressures])
            return graph.update(block).filter { $0.samples.stream == .altitude }.flatMap { $0.samples.columns[0] }
        }
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.altitude: .everything], for: subscriber)
        #expect(graph.sourceRates == [.pressure: 1])
        #expect(altitudes([1000, 1000], &graph) == [0, 0])
        #expect(altitudes([999], &graph).first ?? 0 > 8)
        _ = graph.restart()
        #expect(altitudes([999], &graph) == [0])
        _ = graph.setRequests([:], for: subscriber)
        #expect(altitudes([990], &graph).isEmpty)
        _ = graph.setRequests([.altitude: .everything], for: subscriber)
        #expect(altitudes([980], &graph) == [0])
    }
}
