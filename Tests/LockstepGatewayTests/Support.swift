import LockstepMQTT
import LockstepModel
import LockstepTestSupport

@testable import LockstepGateway

/// 2026-11-25 03:00 UTC.
let receipt = Timestamp(microseconds: 1_795_575_600_000_000)

extension GatewayAdapter {
    /// Translates a message that arrived over MQTT.
    func translate(
        _ topic: String, _ text: String, isRetained: Bool = false
    ) throws(Refusal) -> Translation {
        try translate(
            ForeignMessage(
                origin: .topic(topic), payload: Array(text.utf8), isRetained: isRetained, receivedAt: receipt))
    }

    /// Returns the kind of refusal of a message, or nil if it is not refused.
    func refusal(_ topic: String, _ text: String) -> Refusal.Kind? {
        do {
            _ = try translate(topic, text)
            return nil
        } catch {
            return error.kind
        }
    }
}

extension Translation {
    /// The readings of a stream in all reports.
    func readings(_ stream: String) -> [Reading] { reports.flatMap { $0.readings.filter { $0.stream == stream } } }
}

/// Calls `body` with an empty outbox, and the configuration of a gateway that accepts messages of any sender in one format.
func withOutbox(
    for adapter: some GatewayAdapter, _ body: (GatewayConfiguration, GatewayOutbox) async throws -> Void
) async throws {
    try await withTemporaryFolder { folder in
        var configuration = GatewayConfiguration(
            broker: BrokerAddress(host: "localhost", port: 1883), adapters: [adapter], outboxPath: folder + "/g.db")
        configuration.mapping = DeviceMapping(acceptsAny: true)
        try await body(configuration, GatewayOutbox(path: configuration.outboxPath))
    }
}
