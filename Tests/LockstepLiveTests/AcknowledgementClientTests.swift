import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("AcknowledgementClient")
struct AcknowledgementClientTests {
    @Test("a request whose time is over is not sent")
    func expired() async {
        let client = AcknowledgementClient(root: .standard, limit: 10, wakeup: Wakeup())
        client.didConnect()
        let key = RuleEvent.Key(rule: "hot", device: device("left"), time: moment(0).wall)
        let answer = Task { try await client.acknowledge(key, collectors: [], timeout: 0) }
        await expectEventually("the request") { client.nextDeadline != nil }
        client.advance(to: .max) { _ in
            Issue.record("it is sent")
            return 1
        }
        await #expect(throws: CommandError.self) { try await answer.value }
    }
}
