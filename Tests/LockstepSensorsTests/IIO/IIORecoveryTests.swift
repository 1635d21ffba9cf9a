import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Buffered IIO sensors that go and come back")
struct IIORecoveryTests {
    private let device = "iio:device0"

    @Test("a device that is unplugged while its file stays silent is noticed, and taken up again")
    func unplugged() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let writer = try fake.makeNode(device)
            try await withRunning(fake.source) { sink in
                try await fake.wait(device, "buffer/enable", for: "1")
                try writer.writeScan(1, 2, 3, at: Moment.now().boot)
                #expect(await sink.wait { $0.samples(.accelerometer).count == 1 })
                // The file neither ends nor has an error: that is how the kernel's poll treats a device that has gone.
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
    }

    @Test("a buffer that someone else has switched off is switched on again")
    func switchedOff() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let writer = try fake.makeNode(device)
            defer { writer.end() }
            try await withRunning(fake.source) { sink in
                try await fake.wait(device, "buffer/enable", for: "1")
                try fake.set(device, "buffer/enable", "0")
                let reason =
                    "unavailable: iio:device0 (bmi160): its buffer was switched off: stop the other program that uses "
                    + "the sensor"
                #expect(await sink.wait { $0.statuses.last?.description == reason })
                try await fake.wait(device, "buffer/enable", for: "1")
            }
        }
    }
}
