import LockstepDevice
import LockstepModel
import LockstepMotion
import LockstepSensors
import SensorTestSupport
import Synchronization
import Testing

@Suite("The motion manager")
struct MotionManagerTests {
    /// Returns one second of samples of a device at rest, face up, from `second` on.
    private func resting(_ stream: SensorStream, from second: Int64 = 0) -> SampleBlock {
        let values: [SensorStream: [Double]] = [.accelerometer: [0, 0, -1], .gyroscope: [0, 0, 0]]
        var block = SampleBlock(stream: stream)
        for index in 0..<100 as Range<Int64> {
            block.append(
                time: Timestamp(microseconds: start + second * 1_000_000 + index * 10_000),
                values: values[stream] ?? [0, 20, -40])
        }
        return block
    }

    @Test("reports the available sensors, and the latest reading between start and stop")
    func pull() async throws {
        let source = ScriptedSource([.accelerometer])
        let manager = MotionManager(hub: SensorHub(sources: [source]))
        #expect(manager.isAccelerometerAvailable && manager.isDeviceMotionAvailable)
        #expect(!manager.isGyroAvailable && !manager.isMagnetometerAvailable)
        #expect(manager.availableAttitudeReferenceFrames == [.arbitrary])
        #expect(!manager.isAccelerometerActive && manager.accelerometerData == nil)
        manager.accelerometerUpdateInterval = 0.01
        manager.startAccelerometerUpdates()
        #expect(manager.isAccelerometerActive)
        try await source.deliver(resting(.accelerometer))
        try await wait { manager.accelerometerData?.timestamp.microseconds == start + 990_000 }
        #expect(manager.accelerometerData?.acceleration == SIMD3(0, 0, -1))
        #expect(source.state.withLock { $0.rates } == [.accelerometer: 100])
        manager.stopAccelerometerUpdates()
        try await source.wait { $0.running == 0 }
        #expect(!manager.isAccelerometerActive && manager.accelerometerData != nil && manager.accelerometerError == nil)
        manager.startGyroUpdates()
        try await wait { manager.gyroError != nil }
        let error = manager.gyroError.map { "\($0)" }
        #expect(!manager.isGyroActive && error == "motion/gyroscope is not available: no source provides it")
    }

    @Test("stops its sensors when it is deallocated")
    func lifetime() async throws {
        let source = ScriptedSource([.accelerometer])
        let hub = SensorHub(sources: [source])
        var manager: MotionManager? = MotionManager(hub: hub)
        manager?.startAccelerometerUpdates()
        try await source.wait { $0.running == 1 }
        manager = nil
        try await source.wait { $0.running == 0 }
    }

    @Test("delivers to several readers, each at the interval set when it started")
    func push() async throws {
        let source = ScriptedSource([.accelerometer])
        let manager = MotionManager(hub: SensorHub(sources: [source]))
        func reader(interval: Double) -> Task<[Timestamp], any Error> {
            manager.accelerometerUpdateInterval = interval
            let updates = manager.accelerometerUpdates()
            return Task {
                var times: [Timestamp] = []
                for try await data in updates { times.append(data.timestamp) }
                return times
            }
        }
        let slow = reader(interval: 0.1)
        try await source.wait { $0.rates == [.accelerometer: 10] }
        let fast = reader(interval: 0.01)
        try await source.wait { $0.rates == [.accelerometer: 100] }
        for second in 0..<4 as Range<Int64> { try await source.deliver(resting(.accelerometer, from: second)) }
        source.end()
        #expect(try await fast.value.count == 400)
        let times = try await slow.value
        #expect((36...41).contains(times.count))
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 == 100_000 })
    }

    @Test("delivers device motion in the requested frame at its interval")
    func deviceMotion() async throws {
        let source = ScriptedSource([.accelerometer, .gyroscope, .magnetometer])
        let manager = MotionManager(hub: SensorHub(sources: [source]))
        #expect(manager.availableAttitudeReferenceFrames == [.arbitrary, .arbitraryCorrected, .magneticNorth])
        manager.declination = 0.1
        #expect(manager.availableAttitudeReferenceFrames.last == .trueNorth)
        manager.deviceMotionUpdateInterval = 0.1
        let updates = manager.deviceMotionUpdates(using: .trueNorth)
        let reading = Task {
            var motions: [DeviceMotion] = []
            for try await motion in updates { motions.append(motion) }
            return motions
        }
        for second in 0..<5 as Range<Int64> {
            for stream in source.streams { try await source.deliver(resting(stream, from: second)) }
        }
        #expect(
            source.state.withLock { $0.rates } == [.accelerometer: 100, .gyroscope: 100, .magnetometer: .infinity])
        source.end()
        let motions = try await reading.value
        #expect((35...50).contains(motions.count))
        for motion in motions {
            #expect(motion.referenceFrame == .trueNorth && abs((motion.heading ?? 9) - 0.1) < 1e-6)
            #expect(abs(motion.gravity.z + 1) < 1e-9)
        }
    }

    @Test("a location makes true north available without a declination")
    func location() async throws {
        let source = ScriptedSource([.accelerometer, .gyroscope, .magnetometer, .location])
        let manager = MotionManager(hub: SensorHub(sources: [source]))
        #expect(manager.availableAttitudeReferenceFrames.last == .trueNorth)
        let updates = manager.deviceMotionUpdates(using: .trueNorth)
        let reading = Task {
            var motions: [DeviceMotion] = []
            for try await motion in updates { motions.append(motion) }
            return motions
        }
        try await source.wait { ($0.rates[.location] ?? 0) > 0 }
        // In Auckland magnetic north lies about 20° east of true north.
        var location = SampleBlock(stream: .location)
        location.append(
            time: Timestamp(microseconds: start), values: [-36.85, 174.76] + [Double](repeating: .nan, count: 7))
        try await source.deliver(location)
        for second in 0..<5 as Range<Int64> {
            for stream in source.streams.dropLast() { try await source.deliver(resting(stream, from: second)) }
        }
        source.end()
        let last = try #require(try await reading.value.last)
        #expect(last.referenceFrame == .trueNorth && abs((last.heading ?? 9) - 0.35) < 0.02)
    }
}

@Suite("The pedometer")
struct PedometerTests {
    /// A history with ten steps in each of ten seconds.
    private struct Past: SampleHistory {
        func samples(of stream: SensorStream, from: Timestamp, to: Timestamp) throws -> SampleBlock {
            var block = SampleBlock(stream: stream)
            for second in 1...10 as ClosedRange<Int64> where stream == .steps {
                let time = start + second * 1_000_000
                guard time >= from.microseconds, time <= to.microseconds else { continue }
                block.append(
                    time: Timestamp(microseconds: time), values: [Double(time - 1_000_000), 10, 7, 1, 1, 10])
            }
            return block
        }
    }

    private func row(_ second: Int64, steps: Double) -> SampleBlock {
        var block = SampleBlock(stream: .steps)
        let time = start + second * 1_000_000
        block.append(
            time: Timestamp(microseconds: time), values: [Double(time - 1_000_000), steps, 1.5, 0.7, 0.7, 2])
        return block
    }

    private let beginning = Timestamp(microseconds: start)

    @Test("counts from a start time in the past, and counts no step twice")
    func live() async throws {
        let source = ScriptedSource([.steps])
        let pedometer = Pedometer(hub: SensorHub(sources: [source]), history: Past())
        #expect(pedometer.isStepCountingAvailable && !pedometer.isDistanceAvailable)
        pedometer.startUpdates(from: beginning + 4_500_000)
        try await source.deliver(row(10, steps: 10))
        try await wait { pedometer.pedometerData?.numberOfSteps == 55 }
        try await source.deliver(row(11, steps: 2))
        try await wait { pedometer.pedometerData?.numberOfSteps == 57 }
        let data = try #require(pedometer.pedometerData)
        #expect(data.startDate == beginning + 4_500_000 && data.endDate == beginning + 11_000_000)
        // Half of a row of 7 m, five complete rows, and 1.5 m; 6.5 s in total.
        #expect(abs((data.distance ?? 0) - 40) < 1e-9)
        #expect(abs((data.averageActivePace ?? 0) - 6.5 / 40) < 1e-9)
        #expect(data.currentPace == 0.7 && data.currentCadence == 2)
        pedometer.stopUpdates()
        try await source.wait { $0.running == 0 }
    }

    @Test("counts live steps without a history")
    func withoutHistory() async throws {
        let source = ScriptedSource([.steps])
        let pedometer = Pedometer(hub: SensorHub(sources: [source]))
        let updates = pedometer.updates(from: beginning)
        let reading = Task {
            var counts: [Int] = []
            for try await data in updates { counts.append(data.numberOfSteps) }
            return counts
        }
        for second in 1...3 as ClosedRange<Int64> { try await source.deliver(row(second, steps: Double(second))) }
        source.end()
        #expect(try await reading.value == [1, 3, 6])
        #expect(throws: HistoryError.noHistory) { try pedometer.data(from: beginning, to: beginning + 1) }
    }

    /// A history with a floor up at second 4 and one down at second 8.
    private struct Climbed: SampleHistory {
        func samples(of stream: SensorStream, from: Timestamp, to: Timestamp) throws -> SampleBlock {
            guard stream == .floors else { return try Past().samples(of: stream, from: from, to: to) }
            var block = SampleBlock(stream: stream)
            for (second, values) in [(4, [1, 0]), (8, [0, 1])] as [(Int64, [Double])] {
                let time = Timestamp(microseconds: start + second * 1_000_000)
                guard time >= from, time <= to else { continue }
                block.append(time: time, values: [Double(time.microseconds - 3_000_000)] + values)
            }
            return block
        }
    }

    @Test("floors are those of the history and live ones, each once; without a barometer they are unknown")
    func floors() async throws {
        let source = ScriptedSource([.steps, .floors])
        let pedometer = Pedometer(hub: SensorHub(sources: [source]), history: Climbed())
        #expect(pedometer.isFloorCountingAvailable)
        pedometer.startUpdates(from: beginning)
        var floors = SampleBlock(stream: .floors)
        for second in [8, 12] as [Int64] {
            floors.append(time: beginning + second * 1_000_000, values: [0, second == 8 ? 0 : 2, 1])
        }
        try await source.deliver(floors)
        try await wait { pedometer.pedometerData?.floorsAscended == 3 }
        #expect(pedometer.pedometerData?.floorsDescended == 2)
        try await source.deliver(row(11, steps: 2))
        try await wait { pedometer.pedometerData?.numberOfSteps == 102 }
        #expect(pedometer.pedometerData?.floorsAscended == 3 && pedometer.pedometerData?.floorsDescended == 2)
        pedometer.stopUpdates()

        let past = try pedometer.data(from: beginning, to: beginning + 5_000_000)
        #expect(past.floorsAscended == 1 && past.floorsDescended == 0)
        let later = try pedometer.data(from: beginning + 9_000_000, to: beginning + 10_000_000)
        #expect(later.floorsAscended == 0 && later.floorsDescended == 0)
        let without = Pedometer(hub: SensorHub(sources: []), history: Past())
        #expect(!without.isFloorCountingAvailable)
        #expect(try without.data(from: beginning, to: beginning + 5_000_000).floorsAscended == nil)
    }

    @Test("reports past steps, and the counts of adjacent intervals add up")
    func past() throws {
        let pedometer = Pedometer(hub: SensorHub(sources: []), history: Past())
        let whole = try pedometer.data(from: beginning, to: beginning + 10_000_000)
        #expect(whole.numberOfSteps == 100 && whole.distance == 70)
        let middle = beginning + 3_333_333
        let parts = [
            try pedometer.data(from: beginning, to: middle), try pedometer.data(from: middle, to: whole.endDate),
        ]
        #expect(parts.map(\.numberOfSteps).reduce(0, +) == 100 && parts[0].numberOfSteps == 33)
        #expect(throws: HistoryError.emptyInterval(middle, beginning)) {
            try pedometer.data(from: middle, to: beginning)
        }
    }
}

@Suite("The location manager")
struct LocationManagerTests {
    private func fix(_ second: Int64, latitude: Double, accuracy: Double = 5) -> SampleBlock {
        var block = SampleBlock(stream: .location)
        let time = start + second * 1_000_000
        block.append(
            time: Timestamp(microseconds: time),
            values: [latitude, 11.5, .nan, accuracy, .nan, .nan, .nan, 2, Double(time)])
        return block
    }

    @Test("keeps the latest and the previous location, filtered by its settings")
    func pull() async throws {
        let source = ScriptedSource([.location])
        let manager = LocationManager(hub: SensorHub(sources: [source]))
        manager.desiredAccuracy = 20
        manager.distanceFilter = 100
        manager.startUpdatingLocation()
        try await source.report(.waiting("no fix yet"))
        try await wait { manager.locationError == .locationUnknown("no fix yet") }
        try await source.deliver(fix(0, latitude: 48, accuracy: 50))
        try await source.deliver(fix(1, latitude: 48))
        try await source.deliver(fix(2, latitude: 48.0001))
        // Twenty degrees in a second are impossible.
        try await source.deliver(fix(3, latitude: 68))
        try await source.deliver(fix(60, latitude: 48.01))
        try await wait { manager.location?.coordinate.latitude == 48.01 }
        #expect(manager.previousLocation?.coordinate.latitude == 48)
        #expect(manager.locationError == nil)
        manager.stopUpdatingLocation()
        try await source.wait { $0.running == 0 }
        #expect(!manager.isUpdatingLocation && manager.location != nil)
    }

    @Test("reports the matching error while there is no location")
    func errors() async throws {
        let source = ScriptedSource([.location])
        let manager = LocationManager(hub: SensorHub(sources: [source]))
        let updates = manager.locationUpdates()
        let reading = Task {
            var received: [LocationUpdate] = []
            for try await update in updates { received.append(update) }
            return received
        }
        try await source.report(.unavailable("connection refused"))
        try await source.report(.unavailable("/dev/ttyACM0: Permission denied"))
        try await source.report(.stale("the last fix is 12 s old"))
        try await source.report(.running)
        try await source.deliver(fix(1, latitude: 48))
        source.end()
        let received = try await reading.value
        #expect(
            received.dropLast() == [
                .failed(.network("connection refused")), .failed(.denied("/dev/ttyACM0: Permission denied")),
                .failed(.locationUnknown("the last fix is 12 s old")),
            ])
        guard case .location(let current, nil) = received.last else {
            Issue.record("\(received)")
            return
        }
        #expect(current.coordinate.latitude == 48)
    }

    @Test("returns one location, and throws if access is denied or no source provides locations")
    func request() async throws {
        let source = ScriptedSource([.location])
        let manager = LocationManager(hub: SensorHub(sources: [source]))
        let request = Task { try await manager.requestLocation() }
        try await source.report(.waiting("no fix yet"))
        try await source.deliver(fix(1, latitude: 48))
        #expect(try await request.value.coordinate.latitude == 48)
        try await source.wait { $0.running == 0 }
        let denied = Task { try await manager.requestLocation() }
        try await source.report(.unavailable("Permission denied"))
        await #expect(throws: LocationError.denied("Permission denied")) { try await denied.value }
        let none = LocationManager(hub: SensorHub(sources: [ScriptedSource([.gyroscope])]))
        #expect(!none.isLocationAvailable)
        await #expect(throws: SensorHubError.self) { try await none.requestLocation() }
    }
}

@Suite("The motion activity manager")
struct MotionActivityManagerTests {
    private func row(_ second: Int64, start begin: Int64, _ kind: Double, confidence: Double = 1) -> (
        Timestamp, [Double]
    ) {
        (Timestamp(microseconds: start + second * 1_000_000), [Double(start + begin * 1_000_000), kind, confidence])
    }

    /// A history in which somebody stands, walks from second 10 to 90, and then drives.
    private struct Past: SampleHistory {
        let rows: [(Timestamp, [Double])]

        func samples(of stream: SensorStream, from: Timestamp, to: Timestamp) throws -> SampleBlock {
            var block = SampleBlock(stream: stream)
            for (time, values) in rows where time >= from && time <= to { block.append(time: time, values: values) }
            return block
        }
    }

    private var history: Past {
        Past(rows: [
            row(5, start: 0, 1), row(15, start: 10, 2), row(70, start: 10, 2, confidence: 2), row(110, start: 90, 5),
        ])
    }

    private func time(_ second: Int64) -> Timestamp { Timestamp(microseconds: start + second * 1_000_000) }

    @Test("the activities of a past interval begin with the one of its start, and each occurs once")
    func past() throws {
        let manager = MotionActivityManager(hub: SensorHub(sources: []), history: history)
        let found = try manager.activities(from: time(20), to: time(100))
        #expect(found.map(\.kind) == [.walking, .automotive])
        #expect(found.map(\.confidence) == [.high, .medium])
        #expect(found.map(\.startDate) == [time(10), time(90)])
        #expect(try manager.activities(from: time(2), to: time(80)).map(\.kind) == [.stationary, .walking])
        #expect(throws: HistoryError.emptyInterval(time(3), time(3))) {
            try manager.activities(from: time(3), to: time(3))
        }
        let without = MotionActivityManager(hub: SensorHub(sources: []))
        #expect(throws: HistoryError.noHistory) { try without.activities(from: time(0), to: time(1)) }
        #expect(!without.isActivityAvailable)
    }

    @Test("the latest activity is that of the last row")
    func live() async throws {
        let source = ScriptedSource([.activity])
        let manager = MotionActivityManager(hub: SensorHub(sources: [source]))
        #expect(manager.isActivityAvailable)
        manager.startActivityUpdates()
        var block = SampleBlock(stream: .activity)
        let (at, values) = row(15, start: 10, 4)
        block.append(time: at, values: values)
        try await source.deliver(block)
        try await wait { manager.motionActivity?.kind == .cycling }
        #expect(manager.motionActivity?.startDate == time(10))
        manager.stopActivityUpdates()
        #expect(!manager.isActive)
    }
}
