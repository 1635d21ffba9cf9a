import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

private let device = "iio:device0"

@Suite("IIO barometers")
struct IIOPressureTests {
    @Test("a processed pressure in kPa is polled once a second by default and published in hPa")
    func processed() async throws {
        try await withFakeIIO { fake in
            try fake.add(device, ["name": "bmp280", "in_pressure_input": "101.325"])
            let source = fake.source
            #expect(
                source.sensors() == [
                    SensorDescription(name: "bmp280", stream: .pressure, rates: 0.001...100, access: "polled")
                ])
            #expect(source.nativeRate(of: .pressure) == 1)
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.samples(.pressure).columns.first?.first == 1013.25 })
            }
        }
    }

    @Test("a raw pressure is converted with offset and scale")
    func raw() async throws {
        try await withFakeIIO { fake in
            // LPS22HB: 1/4096 hPa per count, so 0.0000244140625 kPa.
            try fake.add(
                device,
                [
                    "name": "lps22hb", "in_pressure_raw": "4096000", "in_pressure_scale": "0.0000244140625",
                    "in_pressure_offset": "4096", "in_mount_matrix": "0, 1, 0; 1, 0, 0; 0, 0, -1",
                ])
            try await withRunning(fake.source) { sink in
                #expect(await sink.wait { $0.samples(.pressure).columns.first?.first == 1001 })
            }
        }
    }

    @Test("a buffered pressure is one value per scan, by default at the lowest rate of at least 1 Hz")
    func buffered() async throws {
        try await withFakeIIO { fake in
            try fake.add(
                device,
                [
                    "name": "lps22hb", "buffer/enable": "0", "buffer/length": "2", "buffer/watermark": "1",
                    "current_timestamp_clock": "boottime", "sampling_frequency": "25",
                    "sampling_frequency_available": "1 10 25", "in_pressure_raw": "1", "in_pressure_scale": "0.001",
                    "scan_elements/in_pressure_en": "0", "scan_elements/in_pressure_index": "0",
                    "scan_elements/in_pressure_type": "le:u24/32>>0", "scan_elements/in_timestamp_en": "0",
                    "scan_elements/in_timestamp_index": "1", "scan_elements/in_timestamp_type": "le:s64/64>>0",
                ])
            let writer = try fake.makeNode(device)
            defer { writer.end() }
            let source = fake.source
            try await withRunning(source) { sink in
                try await fake.wait(device, "buffer/enable", for: "1")
                #expect(fake.text(device, "sampling_frequency") == "1")
                let now = Moment.now().boot
                try writer.write(bytes(UInt32(101_325)) + [0, 0, 0, 0] + bytes(now * 1000))
                #expect(await sink.wait { $0.samples(.pressure).columns == [[1013.25]] })
                #expect(sink.seen.samples(.pressure).times == [now])
            }
        }
    }
}
