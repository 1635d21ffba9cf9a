import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepSupervision
import Logging

@testable import LockstepAgent

/// The loop of an agent without sources, in the test's folder, to be driven step by step.
func makeLoop(broker: BrokerAddress = BrokerAddress(host: "127.0.0.1", port: 1)) throws -> AgentLoop {
    let configuration = AgentConfiguration(
        address: DeviceAddress(group: .standard, device: DeviceID(unchecked: "pi")), broker: broker,
        sources: [SilentSource()],
        outboxPath: TemporaryFolder.path + "/outbox")
    let wakeup = Wakeup()
    return try AgentLoop(
        configuration, inbox: Inbox(wakeup: wakeup), wakeup: wakeup,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, supervisor: .disabled)
}

/// A source that never has anything to say.
private struct SilentSource: SensorSource {
    let name = "silent"
    let streams: [SensorStream] = []

    func run(into sink: any SampleSink) async throws {}
}
