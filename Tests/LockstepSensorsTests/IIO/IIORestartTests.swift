import LockstepModel
import LockstepSensors
import SensorTestSupport
import Synchronization
import Testing

@Suite("Reconfiguration of buffered IIO sensors")
struct IIORestartTests {
    private let device = "iio:device0"

    @Test("scans in the buffer are delivered when it is stopped")
    func rest() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let writer = try fake.makeNode(device)
            let source = fake.source
            let sink = OnceSink {
                // The reader is busy here, so scans written now are still in the buffer when it checks the rates.
                try? writer.writeScan(4, 5, 6, at: Moment.now().boot)
                source.setRates([:])
            }
            let running = Task { try await source.run(into: sink) }
            try await fake.wait(device, "buffer/enable", for: "1")
            try writer.writeScan(1, 2, 3, at: Moment.now().boot)
            #expect(await sink.record.wait { $0.samples(.accelerometer).count == 2 })
            try await fake.wait(device, "buffer/enable", for: "0")
            running.cancel()
            try await running.value
        }
    }

    @Test("a request with the same effective rate does not stop the buffer")
    func same() async throws {
        try await withBufferedAccelerometer(requesting: 100) { fake, writer, source, sink in
            // A reconfiguration would overwrite this watermark.
            try fake.set(device, "buffer/watermark", "77")
            source.setRates([.accelerometer: .infinity])
            try writer.writeScan(1, 2, 3, at: Moment.now().boot)
            #expect(await sink.wait { $0.samples(.accelerometer).count == 1 })
            #expect(fake.text(device, "buffer/watermark") == "77")
        }
    }
}

/// A sink that runs an action when it receives its first samples.
private final class OnceSink: SampleSink {
    let record = RecordingSink()
    private let isFirst = Atomic(true)
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func accept(_ samples: SampleBlock, clock: SampleClock) async {
        await record.accept(samples, clock: clock)
        if isFirst.exchange(false, ordering: .relaxed) { body() }
    }

    func report(_ status: SourceStatus, from source: String) { record.report(status, from: source) }
}
