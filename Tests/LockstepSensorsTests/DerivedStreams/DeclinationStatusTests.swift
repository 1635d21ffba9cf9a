import LockstepModel
import LockstepMotion
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Declination of device motion")
struct DeclinationStatusTests {
    private struct Sensors: SensorSource {
        var name = "sensors"
        var streams: [SensorStream] = [.accelerometer, .magnetometer, .location]

        func run(into sink: any SampleSink) async throws {}
    }

    /// Returns one second of samples of a device at rest, face up, with its top edge to magnetic north.
    private func second(_ second: Int64, of stream: SensorStream) -> SampleBlock {
        var block = SampleBlock(stream: stream)
        for index in 0..<50 as Range<Int64> {
            block.append(
                time: Timestamp(microseconds: start + second * 1_000_000 + index * 20_000),
                values: stream == .accelerometer ? [0, 0, -1] : [0, 20, -44])
        }
        return block
    }

    /// Updates the graph with one second of samples and returns the frames of the resulting device motion.
    private func frames(_ graph: inout SensorGraph, _ second: Int64) -> Set<Double> {
        let outputs = [SensorStream.magnetometer, .accelerometer].flatMap { graph.update(self.second(second, of: $0)) }
        return Set(outputs.filter { $0.samples.stream == .deviceMotion }.flatMap { $0.samples.columns[17] })
    }

    @Test("the frame is true north after the first location, and the status explains why it is not before")
    func trueNorth() {
        var options = DerivedOptions()
        options.deviceMotion.referenceFrame = .trueNorth
        var graph = SensorGraph(sources: [Sensors()], options: options)
        let subscriber = graph.addSubscriber()
        #expect(graph.derivedStatuses.isEmpty)
        _ = graph.setRequests([.deviceMotion: SensorRequest(rate: 50)], for: subscriber)
        #expect((graph.sourceRates[.location] ?? 0) > 0)
        let before = (0..<3).reduce(into: Set<Double>()) { $0.formUnion(frames(&graph, $1)) }
        #expect(before == [Double(AttitudeReferenceFrame.magneticNorth.code)])
        #expect(
            graph.derivedStatuses == [
                .deviceMotion: .degraded(
                    "declination unknown, no location yet; attitudes are relative to magnetic north")
            ])
        var location = SampleBlock(stream: .location)
        let nan = Double.nan
        location.append(
            time: Timestamp(microseconds: start + 3_000_000), values: [47.4, 8.5, 400, 5, nan, nan, nan, 3, nan])
        _ = graph.update(location)
        let after = (4..<7).reduce(into: Set<Double>()) { $0.formUnion(frames(&graph, $1)) }
        #expect(after == [Double(AttitudeReferenceFrame.trueNorth.code)])
        #expect(graph.derivedStatuses[.deviceMotion] != nil)
        _ = graph.setRequests([:], for: subscriber)
        #expect(graph.derivedStatuses.isEmpty && graph.sourceRates.isEmpty)
    }

    @Test("other frames and a given declination need no location")
    func given() {
        for (frame, declination) in [(AttitudeReferenceFrame.magneticNorth, nil), (.trueNorth, 0.1 as Double?)] {
            var options = DerivedOptions()
            options.deviceMotion = .init(referenceFrame: frame, declination: declination)
            var graph = SensorGraph(sources: [Sensors()], options: options)
            _ = graph.setRequests([.deviceMotion: SensorRequest(rate: 50)], for: graph.addSubscriber())
            #expect(graph.sourceRates[.location] == nil && graph.derivedStatuses.isEmpty)
        }
    }
}
