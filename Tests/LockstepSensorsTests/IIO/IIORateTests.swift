import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Rates of buffered IIO sensors")
struct IIORateTests {
    private let device = "iio:device0"

    @Test(
        "a timer trigger gets the requested rate, and the device the next one that it supports",
        arguments: [(200.0, "200", "200"), (10, "10", "25")])
    func timer(requested: Double, trigger: String, rate: String) async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"], more: ["trigger/current_trigger": "t0"])
            try fake.add("trigger0", ["name": "t0", "sampling_frequency": "100"])
            _ = try fake.makeNode(device)
            let source = fake.source
            source.setRates([.accelerometer: requested])
            try await withRunning(source) { _ in try await fake.wait(device, "buffer/enable", for: "1") }
            #expect(fake.text(device, "sampling_frequency") == rate)
            #expect(fake.text("trigger0", "sampling_frequency") == trigger)
            // 50 ms at the rate of the device.
            if requested == 200 { #expect(fake.text(device, "buffer/watermark") == "10") }
        }
    }

    @Test("the native rate is the one found at discovery, not the one set last")
    func nativeRate() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            try fake.remove(device, "sampling_frequency_available")
            _ = try fake.makeNode(device)
            let source = fake.source
            #expect(source.nativeRate(of: .accelerometer) == 25)
            source.setRates([.accelerometer: 80])
            try await withRunning(source) { _ in
                try await fake.wait(device, "buffer/enable", for: "1")
                try await fake.wait(device, "sampling_frequency", for: "80")
                source.setRates([.accelerometer: .infinity])
                try await fake.wait(device, "sampling_frequency", for: "25")
            }
        }
    }

    @Test("each scan of a sensor with unknown rate wakes the reader")
    func unknown() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"], more: ["buffer/watermark": "7"])
            try fake.remove(device, "sampling_frequency")
            try fake.remove(device, "sampling_frequency_available")
            _ = try fake.makeNode(device)
            try await withRunning(fake.source) { _ in try await fake.wait(device, "buffer/enable", for: "1") }
            #expect(fake.text(device, "buffer/watermark") == "1")
            #expect(fake.text(device, "buffer/length") == "200")
        }
    }

    @Test("the resulting rate of a request is limited by the supported rates")
    func limit() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            _ = try fake.makeNode(device)
            #expect(rateOf400(fake) == 200)
        }
    }

    @Test("the resulting rate of a request is not limited by the current rate, because any rate can be set")
    func unknownLimit() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            try fake.remove(device, "sampling_frequency_available")
            _ = try fake.makeNode(device)
            let source = fake.source
            #expect(source.sensors().map(\.rates) == [25...25])
            #expect(rateOf400(fake) == 400)
            source.setRates([.accelerometer: 400])
            try await withRunning(source) { _ in try await fake.wait(device, "sampling_frequency", for: "400") }
        }
    }

    @Test("the resulting rate of a request is limited by polling, unless the sensor may get a buffer while it runs")
    func pollingLimit() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            #expect(rateOf400(fake) == 100)
        }
        try await withFakeIIO { fake in
            // The character device is missing.
            try fake.addBuffered(["accel"])
            #expect(fake.source.sensors().map(\.rates?.upperBound) == [100])
            #expect(rateOf400(fake) == 400)
        }
    }

    private func rateOf400(_ fake: FakeIIO) -> Double {
        SensorGraph(sources: [fake.source]).rate(of: SensorRequest(rate: 400), for: .accelerometer)
    }
}
