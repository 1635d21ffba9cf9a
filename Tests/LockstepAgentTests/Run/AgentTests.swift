import LockstepAgent
import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepTestSupport
import Logging
import SensorTestSupport
import Synchronization
import Testing

@Suite("The agent", .temporaryFolder)
struct AgentTests {
    @Test("an agent whose outbox cannot be opened ends with the error, even if a source waits for space in the inbox")
    func noOutbox() async throws {
        let configuration = AgentConfiguration(
            address: DeviceAddress(group: .standard, device: DeviceID(unchecked: "pi")),
            broker: BrokerAddress(host: "localhost", port: 1), sources: [FloodingSource()],
            outboxPath: TemporaryFolder.path + "/missing/outbox")
        let agent = Agent(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let end = End()
        Task {
            do {
                try await agent.run()
                end.reason.withLock { $0 = "no error" }
            } catch {
                end.reason.withLock { $0 = "\(error)" }
            }
        }
        await expectEventually(within: .seconds(120)) { end.reason.withLock { $0 } != nil }
        let reason = end.reason.withLock { $0 }
        #expect(reason?.contains("missing/outbox") == true)
    }
}

private final class End: Sendable {
    let reason = Mutex<String?>(nil)
}

/// A source that delivers more samples at once than the inbox accepts.
private struct FloodingSource: SensorSource {
    let name = "flood"
    let streams = [SensorStream.accelerometer]

    func run(into sink: any SampleSink) async throws {
        for _ in 0..<10 { await sink.accept(block(0..<1000), clock: .own) }
    }
}
