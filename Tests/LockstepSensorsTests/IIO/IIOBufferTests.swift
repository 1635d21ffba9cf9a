import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Buffered IIO sensors")
struct IIOBufferTests {
    private let device = "iio:device0"

    @Test("scans are delivered with their own times, in Lockstep's units, rotated by the mount matrix")
    func scans() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(
                ["accel", "anglvel"],
                more: ["in_accel_scale": "9.80665", "in_accel_mount_matrix": "0, 1, 0; 1, 0, 0; 0, 0, -1"])
            let writer = try fake.makeNode(device)
            try await withRunning(fake.source) { sink in
                try await fake.wait(device, "buffer/enable", for: "1")
                let boot = Moment.now().boot
                for number in 0..<3 {
                    let turn = Int16(number + 1) * 1000
                    let values: [Int16] = [1, -2, 3, turn, -turn, 0, 0, 0]
                    try writer.write(values.flatMap { bytes($0) } + bytes((boot + Int64(number)) * 1000))
                }
                #expect(await sink.wait { $0.samples(.gyroscope).count == 3 && $0.samples(.accelerometer).count == 3 })
                let acceleration = sink.seen.samples(.accelerometer)
                #expect(acceleration.times == [boot, boot + 1, boot + 2])
                #expect(acceleration.values(at: 0) == [2, -1, 3])
                #expect(sink.seen.samples(.gyroscope).columns == [[1, 2, 3], [-1, -2, -3], [0, 0, 0]])
                #expect(await sink.wait { $0.statuses == [.running, .running, .running] })
            }
        }
    }

    @Test("only requested channels are enabled, at the next higher rate and on the boot clock")
    func settings() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(
                ["accel", "anglvel"], more: ["scan_elements/in_anglvel_x_en": "1", "buffer/enable": "1"])
            _ = try fake.makeNode(device)
            let source = fake.source
            source.setRates([.accelerometer: 30])
            try await withRunning(source) { sink in
                // The buffer was enabled before: the clock is set between disabling and enabling it.
                try await fake.wait(device, "current_timestamp_clock", for: "boottime")
                try await fake.wait(device, "buffer/enable", for: "1")
                let settings = [
                    "current_timestamp_clock", "sampling_frequency", "scan_elements/in_accel_x_en",
                    "scan_elements/in_anglvel_x_en", "scan_elements/in_timestamp_en", "buffer/watermark",
                    "buffer/length",
                ].map { fake.text(device, $0) }
                #expect(settings == ["boottime", "50", "1", "0", "1", "2", "100"])
                source.setRates([.gyroscope: .infinity])
                try await fake.wait(device, "scan_elements/in_anglvel_x_en", for: "1")
                try await fake.wait(device, "buffer/enable", for: "1")
                #expect(fake.text(device, "sampling_frequency") == "100")
                #expect(fake.text(device, "scan_elements/in_accel_x_en") == "0")
                source.setRates([:])
                try await fake.wait(device, "buffer/enable", for: "0")
                source.setRates([.accelerometer: 1000])
                try await fake.wait(device, "buffer/enable", for: "1")
                #expect(fake.text(device, "sampling_frequency") == "200")
            }
            #expect(fake.text(device, "buffer/enable") == "0")
        }
    }

    @Test("byte order, shift, sign and padding follow the types, and an incomplete scan waits for its remaining bytes")
    func layout() async throws {
        try await withFakeIIO { fake in
            let more = Dictionary(
                uniqueKeysWithValues: ["x", "y", "z"].map { ("scan_elements/in_accel_\($0)_type", "be:s12/16>>4") })
            try fake.addBuffered(["accel"], more: more.merging(["in_accel_scale": "9.80665"]) { $1 })
            let writer = try fake.makeNode(device)
            try await withRunning(fake.source) { sink in
                try await fake.wait(device, "buffer/enable", for: "1")
                let boot = Moment.now().boot
                let scan: [UInt8] = [0xFF, 0xFF, 0x80, 0x0F, 0x00, 0x10, 0xAA, 0xAA] + bytes(boot * 1000)
                try writer.write(scan + scan.prefix(5))
                #expect(await sink.wait { $0.samples(.accelerometer).count == 1 })
                try writer.write(Array(scan.dropFirst(5).dropLast(8)) + bytes((boot + 7) * 1000))
                #expect(await sink.wait { $0.samples(.accelerometer).count == 2 })
                let samples = sink.seen.samples(.accelerometer)
                #expect(samples.columns == [[1, 1], [2048, 2048], [-1, -1]])
                #expect(samples.times == [boot, boot + 7])
                // -2048 is the smallest value of 12 bits.
                #expect(
                    await sink.wait {
                        $0.statuses.last
                            == .degraded(
                                "iio:device0 (bmi160): y at the end of the range (-2048 or 2047): "
                                    + "choose a larger in_accel_scale")
                    })
            }
        }
    }

    @Test("a device without a current trigger gets its own trigger")
    func trigger() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"], more: ["trigger/current_trigger": ""])
            try fake.add("trigger0", ["name": "timer"])
            try fake.add("trigger1", ["name": "bmi160-dev0"])
            _ = try fake.makeNode(device)
            try await withRunning(fake.source) { _ in try await fake.wait(device, "buffer/enable", for: "1") }
            #expect(fake.text(device, "trigger/current_trigger") == "bmi160-dev0")
        }
    }

    @Test("a sample whose time goes backward is dropped and reported")
    func backward() async throws {
        try await withBufferedAccelerometer { _, writer, _, sink in
            let boot = Moment.now().boot
            for time in [boot, boot - 5, boot + 5] { try writer.writeScan(1, 2, 3, at: time) }
            #expect(await sink.wait { $0.samples(.accelerometer).count == 2 })
            #expect(sink.seen.samples(.accelerometer).times == [boot, boot + 5])
            #expect(
                await sink.wait {
                    $0.statuses.contains(
                        .degraded(
                            "iio:device0 (bmi160): 1 sample dropped because of timestamps that did not advance")
                    )
                })
        }
    }

    @Test("a device whose file ends is reported as gone and used again when it returns")
    func gone() async throws {
        try await withBufferedAccelerometer { fake, writer, _, sink in
            try writer.writeScan(1, 2, 3, at: Moment.now().boot)
            #expect(await sink.wait { $0.samples(.accelerometer).count == 1 })
            // The new node exists before the old one ends: otherwise the reader could open the old one again, and
            // the scan for the new one would be too old when it is read.
            let again = try fake.makeNode(device)
            defer { again.end() }
            writer.end()
            let reason = "unavailable: iio:device0 (bmi160): the sensor is gone: \(fake.dev)/iio:device0 has ended"
            #expect(await sink.wait { $0.statuses.last?.description == reason })
            try await fake.wait(device, "buffer/enable", for: "1")
            try again.writeScan(1, 2, 3, at: Moment.now().boot)
            #expect(await sink.wait { $0.samples(.accelerometer).count == 2 && $0.statuses.last == .running })
        }
    }

    @Test("a sensor whose buffer rejects its settings is polled, which is reported")
    func refused() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            _ = try fake.makeNode(device)
            // A kernel file that rejects 0.
            try fake.link(device, "buffer/enable", to: "/proc/self/clear_refs")
            try await withRunning(fake.source) { sink in
                #expect(await sink.wait { $0.samples(.accelerometer).count >= 2 && $0.statuses.last != .running })
                let status = sink.seen.statuses.last?.description ?? ""
                #expect(status.hasPrefix("degraded: iio:device0 (bmi160): polled: "))
                #expect(status.hasSuffix("/buffer/enable: Invalid argument"))
            }
        }
    }

    @Test("a buffer without scans is reported, and used when it delivers scans")
    func silence() async throws {
        try await withBufferedAccelerometer { _, writer, source, sink in
            let silent = SourceStatus.waiting(
                "iio:device0 (bmi160) delivers no scans: check that the interrupt or trigger of its buffer is connected"
            )
            #expect(await sink.wait { $0.statuses.last == silent })
            // The only wake-ups are occasional checks that the device still exists.
            #expect(source.wakeups <= 10)
            try writer.writeScan(1, 2, 3, at: Moment.now().boot)
            #expect(await sink.wait { $0.statuses.last == .running })
            let stale = SourceStatus.stale("iio:device0 (bmi160) has delivered no scans for 5 s")
            #expect(await sink.wait { $0.statuses.last == stale })
        }
    }

    @Test("scans are collected in the buffer during the linger, limited by the FIFO of the chip")
    func linger() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            _ = try fake.makeNode(device)
            for (capacity, watermark) in [(nil, "20"), ("32", "16"), ("1", "1")] {
                if let capacity { try fake.add(device, ["buffer/hwfifo_watermark_max": capacity]) }
                let source = fake.source(linger: 100_000)
                source.setRates([.accelerometer: 200])
                try await withRunning(source) { _ in try await fake.wait(device, "buffer/enable", for: "1") }
                #expect(fake.text(device, "buffer/watermark") == watermark)
                #expect(fake.text(device, "buffer/length") == "400")
            }
        }
    }

    @Test("a buffer with a fixed length wakes its reader when it is half full")
    func fixedLength() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            _ = try fake.makeNode(device)
            // A kernel file that holds a small number and cannot be written.
            try fake.link(device, "buffer/length", to: "/proc/sys/kernel/cap_last_cap")
            let length = try #require(Int(fake.text(device, "buffer/length")))
            #expect(length < 100)
            let source = fake.source(linger: 1_000_000)
            source.setRates([.accelerometer: 200])
            try await withRunning(source) { _ in try await fake.wait(device, "buffer/enable", for: "1") }
            #expect(fake.text(device, "buffer/watermark") == "\(length / 2)")
        }
    }

    @Test("the reader wakes once for all available scans")
    func wakeups() async throws {
        try await withBufferedAccelerometer { _, writer, source, sink in
            for round in 1...10 {
                let boot = Moment.now().boot
                let values: [UInt8] = [1, 0, 2, 0, 3, 0, 0, 0]
                var scans: [UInt8] = []
                for number in 0..<20 { scans += values + bytes((boot - 20 + Int64(number)) * 1000) }
                try writer.write(scans)
                #expect(await sink.wait { $0.samples(.accelerometer).count == round * 20 })
            }
            #expect(source.wakeups <= 20, "\(source.wakeups) wake-ups for 10 writes")
        }
    }
}
