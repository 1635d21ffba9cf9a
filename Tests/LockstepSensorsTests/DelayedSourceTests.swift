import LockstepModel
import LockstepSensors
import SensorTestSupport
import Synchronization
import Testing

@Suite("A source with known delays")
struct DelayedSourceTests {
    private struct OneBlock: SensorSource {
        let name = "one"
        let blocks: [(SampleBlock, SampleClock)]
        var streams: [SensorStream] { blocks.map(\.0.stream) }
        func run(into sink: any SampleSink) async throws {
            for (block, clock) in blocks { await sink.accept(block, clock: clock) }
            sink.report(.running, from: name)
        }
    }

    private final class Recorder: SampleSink {
        let blocks = Mutex<[SampleBlock]>([])
        let reports = Mutex(0)
        func accept(_ samples: SampleBlock, clock: SampleClock) async { blocks.withLock { $0.append(samples) } }
        func report(_ status: SourceStatus, from source: String) { reports.withLock { $0 += 1 } }
    }

    private func block(_ stream: SensorStream, _ times: [Int64]) -> SampleBlock {
        SampleBlock(stream: stream, times: times, columns: stream.columns.map { _ in times.map(Double.init) })
    }

    @Test("stamps the measured moments, with the delay of the stream or of the source")
    func delays() async throws {
        let source = OneBlock(blocks: [
            (block(.accelerometer, [10_000, 20_000]), .boot), (block(.gyroscope, [10_000]), .boot),
            (block(.location, [10_000]), .own), (block(.steps, [30_000]), .boot),
        ])
        let recorder = Recorder()
        let delayed = DelayedSource(source, delays: SourceDelays(common: 1000, streams: [.gyroscope: 4900]))
        #expect(delayed.name == "one" && delayed.streams == source.streams)
        try await delayed.run(into: recorder)
        let blocks = recorder.blocks.withLock { $0 }
        #expect(blocks.map(\.times) == [[9000, 19_000], [5100], [10_000], [29_000]])
        #expect(recorder.reports.withLock { $0 } == 1)
        // The start of a step interval is a time, other columns are not.
        #expect(blocks[3].columns[0] == [29_000])
        #expect(blocks[3].columns[1] == [30_000])
        #expect(blocks[0].columns[0] == [10_000, 20_000])
    }
}
