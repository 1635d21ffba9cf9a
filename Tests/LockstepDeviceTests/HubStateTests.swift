import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepDevice

@Suite("A hub after a clock step")
struct HubStateTests {
    @Test("reports the step to its readers and accepts earlier times")
    func step() async throws {
        let source = ScriptedSource([.accelerometer])
        var state = HubState(graph: SensorGraph(sources: [source]), now: moment(boot: 1_000_000))
        let subscriber = state.graph.addSubscriber()
        var continuation: HubState.Continuation?
        let updates = AsyncThrowingStream<SensorUpdate, any Error> { continuation = $0 }
        state.readers[subscriber] = HubState.Reader(continuation: try #require(continuation), awaited: [0])
        _ = state.graph.setRequests([.accelerometer: .everything], for: subscriber)
        state.accept(block([1_500_000]), clock: .boot, at: moment(boot: 1_600_000))
        // One hour back.
        state.accept(block([2_500_000]), clock: .boot, at: moment(boot: 2_600_000, offset: -3_600_000_000))
        continuation?.finish()
        var received: [String] = []
        for try await update in updates {
            switch update {
            case .samples(let samples): received.append("\(samples.times[0] - start)")
            case .clockStepped: received.append("stepped")
            case .status: received.append("status")
            }
        }
        #expect(received == ["1500000", "stepped", "\(2_500_000 - 3_600_000_000)"])
    }
}
