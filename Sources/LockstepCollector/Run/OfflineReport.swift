import FoundationEssentials
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
    ///
    /// It does not replace the report of another collector, which may have taken over this id.
    /// - Returns: whether the broker has a report of this collector, or of another one that took over.
    func publish(until deadline: ContinuousClock.Instant) -> Bool {
        let configuration = configuration
        let report = report
        var isReplaced = false
        let link = BrokerLink(wakeup: Wakeup(), version: configuration.mqttVersion) { version in
            MQTTOptions(
                address: configuration.broker, clientID: "lockstep-collector-\(configuration.id)-stop",
                keepAlive: configuration.keepAlive, version: version, tls: configuration.tls)
        }
        link.onMessage = { message in
            guard let health = try? CollectorHealth.decode(Data(message.payload)) else { return }
            isReplaced = !report.isOwn(health)
        }
        defer {
            link.stop(until: deadline)
            link.onMessage = nil
        }
        var answers = 0
        while .now < deadline {
            link.wait(until: deadline)
            for event in link.read() + link.write() {
                switch event {
                case .connected: subscribe(link)
                case .subscribed:
                    // A broker answers in order: when it confirms the second subscription, it has sent the retained report.
                    answers += 1
                    if answers < 2 {
                        subscribe(link)
                    } else if isReplaced {
                        return true
                    } else {
                        report.publish(.offline, counting: fleet, over: link, at: .now())
                    }
                case .published(_, let refusal): return refusal == nil
                case .disconnected, .failed: answers = 0
                }
            }
        }
        return false
    }

    private func subscribe(_ link: BrokerLink) {
        // An error means that the connection has ended, which is the next event.
        _ = try? link.subscribe(to: configuration.healthTopic, qos: .atMostOnce)
    }
}
