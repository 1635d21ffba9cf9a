import LockstepDevice
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Synchronization
import Testing

@Suite("The sensor hub")
struct SensorHubTests {
    @Test("runs a source only while one of its streams is subscribed")
    func ownership() async throws {
        let (motion, place) = (ScriptedSource([.accelerometer, .gyroscope], name: "imu"), ScriptedSource([.location]))
        let hub = SensorHub(sources: [motion, place])
        #expect(hub.runningSources.isEmpty)
        let first = Task { for try await _ in hub.updates(for: [.gyroscope: SensorRequest(rate: 50)]) {} }
        try await motion.wait { $0.running == 1 }
        #expect(hub.runningSources == ["imu"] && place.state.withLock { $0.starts } == 0)
        #expect(motion.state.withLock { $0.rates } == [.gyroscope: 50])
        let second = Task { for try await _ in hub.updates(for: [.gyroscope: SensorRequest(rate: 80)]) {} }
        try await motion.wait { $0.rates == [.gyroscope: 80] }
        first.cancel()
        _ = await first.result
        #expect(motion.state.withLock { $0.running } == 1)
        second.cancel()
        _ = await second.result
        try await motion.wait { $0.running == 0 }
        #expect(hub.runningSources.isEmpty && motion.state.withLock { $0.starts } == 1)
    }

    @Test("delivers all samples to each reader and restarts a stopped source")
    func readers() async throws {
        let source = ScriptedSource([.accelerometer])
        let hub = SensorHub(sources: [source])
        for round in 1...2 {
            let updates = (0..<3).map { _ in hub.updates(for: [.accelerometer: .everything]) }
            try await source.deliver(block(0..<10, x: Double(round)))
            for update in updates {
                var iterator = update.makeAsyncIterator()
                guard case .samples(let samples) = try await iterator.next() else {
                    Issue.record("no samples")
                    return
                }
                #expect(samples == block(0..<10, x: Double(round)))
            }
            _ = consume updates
            try await source.wait { $0.running == 0 }
            #expect(source.state.withLock { $0.starts } == round)
        }
    }

    @Test("reports which stream is not available and the reason")
    func unavailable() async throws {
        let hub = SensorHub(sources: [ScriptedSource([.gyroscope])])
        #expect(hub.streams == [.gyroscope])
        await #expect(throws: SensorHubError.self) {
            for try await _ in hub.updates(for: [.steps: .everything]) {}
        }
        let broken = SensorDescription(name: "bmi160", stream: .steps, problem: "no permission")
        #expect(
            SensorHubError.notAvailable(.steps, [broken]).description == "steps is not available: bmi160: no permission"
        )
    }

    @Test("ends at the end of a recording and with the error of a source")
    func ends() async throws {
        let (source, other) = (ScriptedSource([.accelerometer]), ScriptedSource([.location], name: "other"))
        let hub = SensorHub(sources: [source, other])
        let both = Task {
            for try await _ in hub.updates(for: [.accelerometer: .everything, .location: .everything]) {}
        }
        let reading = Task { for try await _ in hub.updates(for: [.accelerometer: .everything]) {} }
        try await source.wait { $0.running == 1 && $0.rates.count == 2 }
        source.end()
        try await reading.value
        // While another reader still requests its stream, the recording is not played again.
        let late = Task { for try await _ in hub.updates(for: [.accelerometer: .everything]) {} }
        try await late.value
        #expect(source.state.withLock { $0.starts } == 1)
        try await other.wait { $0.running == 1 }
        other.end(ScriptedSource.Failure())
        await #expect(throws: ScriptedSource.Failure.self) { try await both.value }
        #expect(hub.runningSources.isEmpty)
    }

    @Test("passes on the status of sources, also to later readers")
    func statuses() async throws {
        let source = ScriptedSource([.location])
        let hub = SensorHub(sources: [source])
        var early = hub.updates(for: [.location: .everything]).makeAsyncIterator()
        try await source.report(.waiting("no fix"))
        var late = hub.updates(for: [.location: .everything]).makeAsyncIterator()
        for update in [try await early.next(), try await late.next()] {
            guard case .status(.waiting("no fix"), "scripted", [.location]) = update else {
                Issue.record("\(String(describing: update))")
                continue
            }
        }
    }
}
