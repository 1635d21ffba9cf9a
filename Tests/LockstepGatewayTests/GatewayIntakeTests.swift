import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepGateway

@Suite("Intake of a gateway")
struct GatewayIntakeTests {
    private func message(at time: Int64, isRetained: Bool = false) -> ForeignMessage {
        ForeignMessage(
            origin: .topic("senml/a"), payload: Array(#"[{"bt":\#(time),"n":"pressure","u":"Pa","v":1}]"#.utf8),
            isRetained: isRetained, receivedAt: receipt)
    }

    @Test("a known sender whose samples are all refused has been heard, and its last state stays")
    func refusedSamples() async throws {
        try await withTemporaryFolder { folder in
            var configuration = GatewayConfiguration(
                broker: BrokerAddress(host: "localhost", port: 1883), adapters: [SenMLAdapter()],
                outboxPath: folder + "/g.db")
            configuration.mapping = DeviceMapping(acceptsAny: true)
            let outbox = try GatewayOutbox(path: configuration.outboxPath)
            var intake = GatewayIntake(configuration)
            let present = receipt.microseconds / 1_000_000
            let future = present + 86_400

            #expect(throws: Refusal.self) { try intake.ingest(message(at: future), outbox: outbox) }
            #expect(intake.takeContacts().isEmpty && outbox.devices.count == 0, "an unknown sender makes no device")

            _ = try intake.ingest(message(at: present), outbox: outbox)
            let contact = SenderContact(format: "senml", presence: ForeignPresence(.foreground, reason: "message"))
            #expect(throws: Refusal.self) { try intake.ingest(message(at: future), outbox: outbox) }
            #expect(intake.takeContacts() == [0: contact])

            #expect(throws: Refusal.self) { try intake.ingest(message(at: future), outbox: outbox) }
            #expect(intake.takeContacts() == [0: SenderContact(format: "senml", presence: nil)])

            #expect(throws: Refusal.self) {
                try intake.ingest(message(at: future, isRetained: true), outbox: outbox)
            }
            #expect(intake.takeContacts().isEmpty, "a message that the broker kept says nothing about its sender")
        }
    }
}
