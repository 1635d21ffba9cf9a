import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Buffered IIO sensors that disappear and return")
struct IIORecoveryTests {
    private let device = "iio:device0"

    @Test("a device that is unplugged while its file stays silent is noticed and used again")
    func unplugged() async throws {
        try await withBufferedAccelerometer { fake, writer, _, sink in
            try writer.writeScan(1, 2, 3, at: Moment.now().boot)
            #expect(await sink.wait { $0.samples(.accelerometer).count == 1 })
            // The file neither ends nor fails: the kernel's poll() does not report that a device was unregistered.
            try fake.unplug(device)
            #expect(
                await sink.wait {
                    $0.statuses.last?.description.hasPrefix("unavailable: iio:device0 (bmi160): ") == true
                })
            try fake.plugIn(device)
            try await fake.wait(device, "buffer/enable", for: "1")
            try writer.writeScan(1, 2, 3, at: Moment.now().boot)
            #expect(await sink.wait { $0.samples(.accelerometer).count == 2 && $0.statuses.last == .running })
        }
    }

    @Test("a buffer that another program disabled is enabled again")
    func switchedOff() async throws {
        try await withBufferedAccelerometer { fake, _, _, sink in
            try fake.set(device, "buffer/enable", "0")
            let reason =
                "unavailable: iio:device0 (bmi160): another program disabled the sensor's buffer; stop that program"
            #expect(await sink.wait { $0.statuses.last?.description == reason })
            try await fake.wait(device, "buffer/enable", for: "1")
        }
    }
}
