import LockstepDevice
import SensorTestSupport
import Testing

@Suite("Shakes, falls and orientations")
struct GestureTests {
    /// Delivers what a simulated person's accelerometer measures, and ends the source.
    private func play(_ motion: SimulatedMotion, _ seconds: ClosedRange<Int64>, on source: ScriptedSource) async throws
    {
        var schedule = SimulationSchedule(body: WalkingBody(seed: 1, motion: motion), rate: 50, start: start)
        for second in seconds {
            for block in schedule.take(through: start + second * 1_000_000) where block.stream == .accelerometer {
                try await source.deliver(block)
            }
        }
        source.end()
    }

    private func elements<Element>(of updates: SensorUpdates<Element>) -> Task<[Element], any Error> {
        Task {
            var found: [Element] = []
            for try await element in updates { found.append(element) }
            return found
        }
    }

    @Test("each shake is delivered")
    func shakes() async throws {
        let source = ScriptedSource([.accelerometer])
        let manager = MotionManager(hub: SensorHub(sources: [source]))
        let shakes = elements(of: manager.shakes())
        try await source.wait { $0.rates == [.accelerometer: 50] }
        try await play(.shake, 1...16, on: source)
        let found = try await shakes.value
        #expect(found.count == 2 && found.allSatisfy { $0.strength > 1.1 }, "\(found)")
    }

    @Test("a fall is delivered")
    func falls() async throws {
        let source = ScriptedSource([.accelerometer])
        let manager = MotionManager(hub: SensorHub(sources: [source]))
        let falls = elements(of: manager.falls())
        try await source.wait { $0.rates == [.accelerometer: 50] }
        try await play(.fall, 1...16, on: source)
        let found = try await falls.value
        #expect(found.map { ($0.impact - start) / 1_000_000 } == [8], "\(found)")
    }

    @Test("orientations are derived from the accelerometer and delivered")
    func orientations() async throws {
        let source = ScriptedSource([.accelerometer])
        let manager = MotionManager(hub: SensorHub(sources: [source]))
        let orientations = elements(of: manager.orientations())
        try await source.wait { $0.running == 1 }
        try await play(.turn, 1...9, on: source)
        let found = try await orientations.value
        #expect(found.count == 2 && found.first == .portrait, "\(found)")
    }
}
