import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Synchronization
import Testing

private let device = "iio:device0"

/// Retries so late that only device events cause an attempt within a test.
private let onlyEvents = BufferRetry(minDelay: 3_600_000_000, maxDelay: 3_600_000_000, minSpacing: 0)

@Suite("IIO devices whose access rights are set after the agent has opened them")
struct IIOLateAccessTests {
    private let changed = SourceStatus.waiting("iio:device0 (bmi160): changed from polling to its buffer")

    private func isPolled(_ status: SourceStatus?) -> Bool {
        status?.description.hasPrefix("degraded: iio:device0 (bmi160): polled: ") ?? false
    }

    @Test("a polled device changes to its buffer at udev's event, without a repeated or a lost sample")
    func event() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let events = try FakeEvents()
            // The linger is so long that the polled samples are still collected when the device changes to its buffer.
            let source = IIOSource(tree: fake.tree, events: events.events, linger: 3_600_000_000, retry: onlyEvents)
            source.setRates([.accelerometer: 100])
            try await withRunning(source) { sink in
                for _ in 1...5 { try await fake.waitForReading(device, "in_accel_z_raw") }
                let before = Moment.now().boot
                for _ in 1...2 { try await fake.waitForReading(device, "in_accel_z_raw") }
                #expect(sink.seen.blocks.isEmpty)
                let writer = try fake.makeNode(device)
                defer { writer.end() }
                // Scans from before the last reading.
                for time in [before - 1, before] { try writer.writeScan(900, 900, 900, at: time) }
                try events.sendFromUdev("add")
                try await fake.wait(device, "buffer/enable", for: "1")
                let enabled = Moment.now().boot
                try writer.writeScan(400, 0, 0, at: enabled)
                #expect(await sink.wait { $0.samples(.accelerometer).times.last == enabled })
                let samples = sink.seen.samples(.accelerometer)
                let x = samples.columns[0].map { ($0 * -9806.65).rounded() }
                #expect(x.count >= 6 && x.dropLast().allSatisfy { $0 == 1 } && x.last == 400)
                #expect(zip(samples.times, samples.times.dropFirst()).allSatisfy(<))
                // On a busy machine the old scans may be so old that they are reported as dropped.
                #expect(await sink.wait { $0.statuses.contains(changed) && $0.statuses.last != changed })
            }
            #expect(fake.text(device, "buffer/enable") == "0")
        }
    }

    @Test("without device events a polled device changes to its buffer by retries")
    func withoutEvents() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let source = IIOSource(tree: fake.tree, events: DeviceEvents { nil })
            // The rate is so low that no reading wakes the reader.
            source.setRates([.accelerometer: 0.001])
            try await withRunning(source) { sink in
                #expect(await sink.wait { isPolled($0.statuses.last) })
                let writer = try fake.makeNode(device)
                defer { writer.end() }
                try await fake.wait(device, "buffer/enable", for: "1")
                try writer.writeScan(1, 2, 3, at: Moment.now().boot)
                #expect(await sink.wait { $0.statuses.suffix(2) == [changed, .running] })
            }
        }
    }

    @Test("a device that returns is polled until its rights are set, each time")
    func again() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let events = try FakeEvents()
            let source = IIOSource(tree: fake.tree, events: events.events, retry: onlyEvents)
            try await withRunning(source) { sink in
                for _ in 1...10 {
                    #expect(await sink.wait { isPolled($0.statuses.last) })
                    let writer = try fake.makeNode(device)
                    try events.sendFromUdev("add")
                    try await fake.wait(device, "buffer/enable", for: "1")
                    try writer.writeScan(1, 2, 3, at: Moment.now().boot)
                    #expect(await sink.wait { $0.statuses.last == .running })
                    try fake.unplug(device)
                    try fake.removeNode(device)
                    try events.send("remove")
                    #expect(await sink.wait { $0.statuses.last?.description.hasPrefix("unavailable: ") ?? false })
                    writer.end()
                    try fake.plugIn(device)
                    try events.send("add")
                }
            }
        }
    }

    @Test("at the native rate a device that was polled at first gets the native rate of its buffer")
    func nativeRate() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let events = try FakeEvents()
            let source = IIOSource(tree: fake.tree, events: events.events, retry: onlyEvents)
            #expect(source.nativeRate(of: .accelerometer) == 50)
            try await withRunning(source) { sink in
                #expect(await sink.wait { !$0.blocks.isEmpty })
                #expect(fake.text(device, "sampling_frequency") == "50")
                let writer = try fake.makeNode(device)
                defer { writer.end() }
                try events.sendFromUdev("change")
                try await fake.wait(device, "buffer/enable", for: "1")
                #expect(fake.text(device, "sampling_frequency") == "100")
            }
        }
    }

    @Test("a sensor that cannot be read when its device returns is read later, beside the others")
    func partly() async throws {
        try await withFakeIIO { fake in
            try fake.addPolledAccelerometer()
            let scale = ["in_anglvel_scale": "1"]
            try fake.add(
                device, scale.merging(["x", "y", "z"].map { ("in_anglvel_\($0)_raw", "1") }) { $1 })
            let events = try FakeEvents()
            let source = IIOSource(tree: fake.tree, events: events.events, retry: onlyEvents)
            try await withRunning(source) { sink in
                #expect(await sink.wait { !$0.samples(.gyroscope).isEmpty })
                try fake.rename(device, to: "unplugged")
                try events.send("remove")
                #expect(await sink.wait { $0.statuses.last?.description.hasPrefix("unavailable: ") ?? false })
                try fake.remove("unplugged", "in_anglvel_scale")
                try fake.rename("unplugged", to: device)
                let (accelerations, rotations) = (
                    sink.seen.samples(.accelerometer).count, sink.seen.samples(.gyroscope).count
                )
                try events.send("add")
                #expect(await sink.wait { $0.samples(.accelerometer).count >= accelerations + 3 })
                #expect(sink.seen.samples(.gyroscope).count == rotations)
                try fake.add(device, scale)
                try events.sendFromUdev("add")
                #expect(await sink.wait { $0.samples(.gyroscope).count >= rotations + 3 })
                #expect(await sink.wait { $0.statuses.last == .running })
            }
        }
    }

    @Test("a failed attempt continues the polling at its rate and reports the new reason")
    func failure() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let writer = try fake.makeNode(device)
            defer { writer.end() }
            let codes = Mutex([EACCES, EBUSY])
            let opener = BufferOpener { (node, _) throws(IIOError) in
                let code = codes.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                if let code { throw IIOError(path: node, errno: code) }
                return open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            }
            let events = try FakeEvents()
            let tree = IIOTree(sysfsRoot: fake.sysfs, devRoot: fake.dev, bufferOpener: opener)
            let source = IIOSource(tree: tree, events: events.events, retry: onlyEvents)
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.statuses.last?.description.contains("add the udev rule") ?? false })
                // An attempt that fails later has changed the rate already.
                try fake.set(device, "sampling_frequency", "25")
                try events.send("change")
                #expect(
                    await sink.wait {
                        $0.statuses.last?.description.contains("another program uses the sensor") ?? false
                    })
                #expect(fake.text(device, "sampling_frequency") == "50")
                let count = sink.seen.samples(.accelerometer).count
                #expect(await sink.wait { $0.samples(.accelerometer).count >= count + 3 })
                #expect(!sink.seen.statuses.contains { $0.description.hasPrefix("unavailable: ") })
                try events.send("change")
                try await fake.wait(device, "buffer/enable", for: "1")
            }
        }
    }

    @Test("neither waiting for the rights nor a flood of events causes busy retries")
    func flood() async throws {
        try await withFakeIIO { fake in
            try fake.addBuffered(["accel"])
            let writer = try fake.makeNode(device)
            defer { writer.end() }
            let attempts = Atomic(0)
            let opener = BufferOpener { (node, _) throws(IIOError) in
                attempts.add(1, ordering: .relaxed)
                throw IIOError(path: node, errno: EACCES)
            }
            let events = try FakeEvents()
            let tree = IIOTree(sysfsRoot: fake.sysfs, devRoot: fake.dev, bufferOpener: opener)
            let source = IIOSource(tree: tree, events: events.events)
            source.setRates([.accelerometer: 100])
            let began = Moment.now().boot
            try await withRunning(source) { sink in
                #expect(await sink.wait { $0.samples(.accelerometer).count >= 300 })
                let quiet = attempts.load(ordering: .relaxed)
                // 0, 0.1, 0.3, 0.7, 1.5, 3.1 … s after the start.
                let seconds = Double(Moment.now().boot - began) / 1e6
                #expect(Double(quiet) <= 2 + log2(1 + seconds / 0.1), "\(quiet) attempts in \(seconds) s")
                #expect(quiet >= 3)
                let wakeups = source.wakeups
                let samples = sink.seen.samples(.accelerometer).count
                let floodBegan = Moment.now().boot
                for count in stride(from: samples + 1, through: samples + 100, by: 1) {
                    for _ in 1...5 { try events.send("change") }
                    #expect(await sink.wait { $0.samples(.accelerometer).count >= count })
                }
                let flooded = attempts.load(ordering: .relaxed) - quiet
                let elapsed = Double(Moment.now().boot - floodBegan) / 1e6
                #expect(Double(flooded) <= 2 + elapsed / 0.05, "\(flooded) attempts in \(elapsed) s")
                #expect(flooded >= 3)
                // Each sample, event and retry wakes the reader once.
                #expect(source.wakeups - wakeups <= 2 * 700, "\(source.wakeups - wakeups) wake-ups")
            }
        }
    }
}
