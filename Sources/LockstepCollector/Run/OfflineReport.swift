import LockstepMQTT
import LockstepModel
import LockstepWire

/// Publishes the status 'offline' of a collector that stops while its store cannot be written.
///
/// Such a collector has no connection, and its last will said that it is stalled. It connects under a client id of its
/// own, without a session, because over the session it would receive messages that it cannot store.
struct OfflineReport {
    let configuration: CollectorConfiguration
    let report: HealthReport
    let fleet: HealthReport.Fleet

    /// Publishes the status, and waits until the broker has it or the deadline is reached.
    func publish(until deadline: ContinuousClock.Instant) {
        let configuration = configuration
        let link = BrokerLink(wakeup: Wakeup(), version: configuration.mqttVersion) { version in
            MQTTOptions(
                address: configuration.broker, clientID: "lockstep-collector-\(configuration.id)-stop",
                keepAlive: configuration.keepAlive, version: version, tls: configuration.tls)
        }
        var isPublished = false
        while !isPublished, .now < deadline {
            link.wait(until: deadline)
            for event in link.read() + link.write() {
                switch event {
                case .connected: report.publish(.offline, counting: fleet, over: link, at: .now())
                case .published: isPublished = true
                case .disconnected, .failed, .subscribed: break
                }
            }
        }
        link.stop(until: deadline)
    }
}
