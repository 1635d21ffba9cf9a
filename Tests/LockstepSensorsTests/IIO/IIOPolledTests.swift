import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Polled IIO sensors")
struct IIOPolledTests {
    @Test("values have Lockstep's units and times of the boot clock")
    func values() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            let before = Moment.now().boot
            let seen = try await withRunning(fake.source) { sink in
                #expect(await sink.wait { $0.samples(.accelerometer).count >= 5 && $0.statuses.count == 2 })
                return sink.seen
            }
            let samples = seen.samples(.accelerometer)
            #expect(samples.values(at: 0) == [-0.1, -0.2, -1])
            #expect(seen.clocks == [.boot])
            #expect(samples.times.allSatisfy { $0 >= before && $0 <= Moment.now().boot })
            #expect(zip(samples.times, samples.times.dropFirst()).allSatisfy { $0 < $1 })
            #expect(seen.statuses == [.running, .running])
        }
    }

    @Test("the rate is the requested one, at most 100 Hz")
    func rates() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            let source = fake.source
            source.setRates([.accelerometer: 1000])
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.samples(.accelerometer).count >= 30 })
                let times = sink.seen.samples(.accelerometer).times
                // Readings have fixed deadlines: a late one does not delay the following ones.
                let elapsed = Double(times[29] - times[0])
                #expect(elapsed > 280_000, "30 samples in \(elapsed) µs")
            }
            source.setRates([.accelerometer: 2])
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.samples(.accelerometer).count >= 2 })
                let times = sink.seen.samples(.accelerometer).times
                #expect(times[1] - times[0] > 100_000)
            }
        }
    }

    @Test("samples are delivered no more often than the linger allows")
    func linger() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            let source = fake.source(linger: 300_000)
            source.setRates([.accelerometer: 100])
            let before = Moment.now().boot
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.blocks.count >= 4 })
                // Each linger ends one period early, because the next sample belongs to the next linger.
                #expect(sink.seen.blocks[3].times[0] - before >= 3 * 290_000)
            }
        }
    }

    @Test("a sensor that measures less often than it is polled is set to a higher rate")
    func hardwareRate() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            try fake.add(
                "iio:device0",
                ["in_accel_sampling_frequency": "1", "in_accel_sampling_frequency_available": "1 10 60 400"])
            let source = fake.source
            source.setRates([.accelerometer: 40])
            try await withRunning(source) { sink in
                #expect(await sink.wait { !$0.blocks.isEmpty })
            }
            #expect(fake.text("iio:device0", "in_accel_sampling_frequency") == "60")
        }
    }

    @Test("sensors that share a rate get the fastest requested one, in any order")
    func sharedRate() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            try fake.add(
                "iio:device0",
                [
                    "in_anglvel_x_raw": "1", "in_anglvel_y_raw": "2", "in_anglvel_z_raw": "3", "in_anglvel_scale": "1",
                    "sampling_frequency": "12", "sampling_frequency_available": "12 25 100 200",
                ])
            let source = fake.source
            source.setRates([.accelerometer: 100, .gyroscope: 10])
            try await withRunning(source) { sink in
                #expect(await sink.wait { !$0.blocks.isEmpty })
            }
            #expect(fake.text("iio:device0", "sampling_frequency") == "100")
        }
    }

    @Test("a sensor without requests causes no wake-ups and starts with the first request")
    func idle() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            try fake.add("iio:device0", ["in_steps_input": "7"])
            let source = fake.source
            source.setRates([:])
            try await withRunning(source) { sink in
                // The simulated source serves as a clock for one second.
                try await withRunning(SimulatedSource(rate: 100)) { clock in
                    #expect(await clock.wait { $0.samples(.accelerometer).count >= 100 })
                }
                #expect(source.wakeups == 0)
                #expect(sink.seen.blocks.isEmpty)
                source.setRates([.accelerometer: 100])
                #expect(await sink.wait { $0.samples(.accelerometer).count >= 20 })
                source.setRates([:])
                // One wake-up per sample, and some for the changes of the requests.
                let count = sink.seen.samples(.accelerometer).count
                #expect(source.wakeups <= count + 60, "\(source.wakeups) wake-ups for \(count) samples")
            }
        }
    }

    @Test("zeros on all axes are reported and not published until the sensor reads something else")
    func zeros() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            for axis in ["x", "y", "z"] { try fake.set("iio:device0", "in_accel_\(axis)_raw", "0") }
            try await withRunning(fake.source) { sink in
                let zero = SourceStatus.waiting(
                    "iio:device0 (lis3dh) reads zero on all axes: check the sensor's power and wiring; "
                        + "zeros are not published")
                #expect(await sink.wait { $0.statuses.contains(zero) })
                #expect(sink.seen.blocks.isEmpty)
                try fake.set("iio:device0", "in_accel_z_raw", "10")
                #expect(await sink.wait { $0.statuses.last == .running && !$0.blocks.isEmpty })
                #expect(sink.seen.samples(.accelerometer).values(at: 0) == [0, 0, -1])
            }
        }
    }

    @Test("a gyroscope that has moved may read zero, also after a rate change")
    func resting() async throws {
        try await withFakeIIO { fake in
            try fake.add(
                "iio:device0",
                [
                    "in_anglvel_x_raw": "5", "in_anglvel_y_raw": "0", "in_anglvel_z_raw": "0", "in_anglvel_scale": "1",
                    "sampling_frequency": "1", "sampling_frequency_available": "1 60 100",
                ])
            let source = fake.source
            source.setRates([.gyroscope: 60])
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.samples(.gyroscope).count > 0 })
                try fake.set("iio:device0", "in_anglvel_x_raw", "0")
                source.setRates([.gyroscope: 100])
                // Only the next session sets the rate, so later samples belong to it.
                try await fake.wait("iio:device0", "sampling_frequency", for: "100")
                let before = sink.seen.samples(.gyroscope).count
                #expect(await sink.wait { $0.samples(.gyroscope).count >= before + 3 })
            }
        }
    }

    @Test("a sensor that disappears is reported while others continue, and it is used again under any number")
    func gone() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            try fake.add(
                "iio:device1",
                ["name": "lis3mdl", "in_magn_x_input": "1", "in_magn_y_input": "2", "in_magn_z_input": "3"])
            try await withRunning(fake.source) { sink in
                #expect(await sink.wait { !$0.samples(.accelerometer).isEmpty && !$0.samples(.magnetometer).isEmpty })
                fake.empty("iio:device0", "in_accel_x_raw")
                try fake.remove("iio:device0")
                let isGone: @Sendable (RecordingSink.Seen) -> Bool = {
                    $0.statuses.contains { $0.description.hasPrefix("unavailable: iio:device0 (lis3dh): ") }
                }
                #expect(await sink.wait(until: isGone))
                let before = sink.seen.samples(.magnetometer).count
                #expect(await sink.wait { $0.samples(.magnetometer).count >= before + 5 })
                let lost = sink.seen.samples(.accelerometer).count
                try fake.addPolledAccelerometer("iio:device7")
                #expect(await sink.wait { $0.samples(.accelerometer).count > lost })
                #expect(await sink.wait { $0.statuses.last == .running })
            }
        }
    }
}
