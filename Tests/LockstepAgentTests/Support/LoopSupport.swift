import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepTestSupport
import Logging

@testable import LockstepAgent

/// Returns the loop of an agent without samples, with its outbox in the test's folder, to run turn by turn.
func makeLoop(broker: BrokerAddress = BrokerAddress(host: "127.0.0.1", port: 1)) throws -> AgentLoop {
    let configuration = AgentConfiguration(
        address: DeviceAddress(group: .standard, device: DeviceID(unchecked: "pi")), broker: broker,
        sources: [FakeSource(name: "silent", streams: [])],
        outboxPath: TemporaryFolder.path + "/outbox")
    let wakeup = Wakeup()
    return try AgentLoop(
        configuration, inbox: Inbox(wakeup: wakeup), wakeup: wakeup,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, supervisor: .disabled)
}
