import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

/// The devices of a HID sensor hub, as the kernel's drivers show them. `deploy/test-kernel` has the drivers themselves.
@Suite("IIO devices of a HID sensor hub")
struct IIOSensorHubTests {
    /// Returns a value as the driver stores it: the bytes above its 16 bits belong to the next value of the report.
    private func stored(_ value: Int16, before next: Int16) -> [UInt8] { bytes(value) + bytes(next) }

    @Test("the motion sensors are found with their buffers and their current rates")
    func discovery() async throws {
        try await withFakeIIO { fake in
            try fake.addSensorHub()
            for number in 0..<4 { _ = try fake.makeNode("iio:device\(number)") }
            let sensors = fake.source.sensors()
            #expect(sensors.map(\.stream) == [.accelerometer, .gyroscope, .magnetometer])
            #expect(sensors.map(\.access) == (0..<3).map { "buffered, \(fake.dev)/iio:device\($0)" })
            #expect(sensors.map(\.rates) == [20...20, 20...20, 20...20])
            #expect(sensors.allSatisfy { $0.problem == nil })
        }
    }

    @Test("-1 g at rest, face up, in buffer and attributes stays -1 g")
    func sign() async throws {
        try await withFakeIIO { fake in
            try fake.addSensorHub()
            let writer = try fake.makeNode("iio:device0")
            let source = fake.source
            source.setRates([.accelerometer: 100])
            try await withRunning(source) { sink in
                try await fake.wait("iio:device0", "buffer/enable", for: "1")
                #expect(fake.text("iio:device0", "in_accel_sampling_frequency") == "100")
                try writer.write(
                    stored(100, before: -200) + stored(-200, before: -950) + stored(-950, before: 0x7FFF)
                        + [0, 0, 0, 0] + bytes(Moment.now().boot * 1000))
                #expect(await sink.wait { $0.samples(.accelerometer).count == 1 })
                #expect(sink.seen.samples(.accelerometer).values(at: 0) == [0.1, -0.2, -0.95])
            }
        }
        try await withFakeIIO { fake in
            try fake.addSensorHub()
            // Without access to the character device, the sensor is polled.
            let source = fake.source
            source.setRates([.accelerometer: 50])
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.samples(.accelerometer).count > 0 })
                #expect(sink.seen.samples(.accelerometer).values(at: 0) == [0.1, -0.2, -0.95])
            }
        }
    }

    @Test("a magnetometer without timestamps is stamped on arrival, and the status says so")
    func magnetometer() async throws {
        try await withFakeIIO { fake in
            try fake.addSensorHub()
            let writer = try fake.makeNode("iio:device2")
            let source = fake.source
            source.setRates([.magnetometer: 25])
            try await withRunning(source) { sink in
                try await fake.wait("iio:device2", "buffer/enable", for: "1")
                let before = Moment.now().boot
                try writer.write(stored(2000, before: -500) + stored(-500, before: -4000) + stored(-4000, before: 0))
                #expect(await sink.wait { $0.samples(.magnetometer).count == 1 })
                let samples = sink.seen.samples(.magnetometer)
                #expect(samples.values(at: 0) == [20, -5, -40])
                #expect(samples.times[0] >= before && samples.times[0] <= Moment.now().boot)
                let note = "stamped on arrival, because the scans have no timestamps"
                #expect(await sink.wait { $0.statuses.contains(.degraded("iio:device2 (magn_3d): \(note)")) })
            }
        }
    }
}
