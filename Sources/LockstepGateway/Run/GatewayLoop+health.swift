import LockstepAgent
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

/// The health report of the gateway.
extension GatewayLoop {
    /// The interval between two reports, in µs.
    private static let healthInterval: Int64 = 10_000_000

    /// Returns the last will: the broker publishes it when the connection is lost.
    static func will(_ configuration: GatewayConfiguration) -> MQTTMessage {
        message(GatewayHealth(status: .offline, at: Moment.now().wall), configuration)
    }

    private static func message(_ health: GatewayHealth, _ configuration: GatewayConfiguration) -> MQTTMessage {
        let topic = configuration.root.topic(
            group: configuration.mapping.group, gateway: DeviceID(unchecked: configuration.id))
        return MQTTMessage(topic: topic, payload: health.encoded(), isRetained: true)
    }

    /// Publishes a report if one is due.
    func reportHealth() {
        let boot = Moment.now().boot
        guard link.isUp, boot >= nextHealth else { return }
        nextHealth = boot + Self.healthInterval
        publishHealth(outboxProblem == nil ? .online : .stalled)
    }

    /// Publishes a report.
    func publishHealth(_ status: GatewayHealth.Status) {
        guard link.isUp else { return }
        for warning in certificates.update(broker: link.certificateExpiry, at: Moment.now().wall.microseconds) {
            logger.log(
                level: warning.hasExpired ? .error : .warning, "\(warning.text)",
                metadata: warning.metadata.mapValues { "\($0)" })
        }
        let expiries = certificates.expiries.map { ($0.key.rawValue, Timestamp(microseconds: $0.value)) }
        let dropped = outbox.devices.indices.reduce(Int64(0)) { $0 + outbox.devices[$1].droppedSamples }
        let health = GatewayHealth(
            status: status, at: Moment.now().wall, problem: outboxProblem ?? delivery.unreadable,
            devices: outbox.devices.count,
            accepted: Int(accepted), refused: Int(refused), leftOut: Int(leftOut), refusedLogins: inbox.refusedLogins,
            outboxBytes: Int(outbox.batches.bytes), dropped: Int(dropped),
            version: configuration.version, started: started, memory: ProcessMemory.now()?.current,
            sparkplug: inbox.sparkplug,
            certificates: expiries.isEmpty ? nil : Dictionary(uniqueKeysWithValues: expiries))
        do { _ = try link.publish(Self.message(health, configuration)) } catch {
            logger.error("cannot publish health", metadata: ["error": "\(error)"])
        }
    }
}
