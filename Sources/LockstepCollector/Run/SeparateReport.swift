import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepWire

/// Publishes a report of a collector that has no connection, under a client id of its own and without a session.
///
/// A collector that stops while its store cannot be written is offline, although its last will said that it is stalled. Over
/// the session, it would receive messages that it cannot store. A collector that replaces another one reports its store
/// before it takes over the session.
struct SeparateReport {
    let configuration: CollectorConfiguration
    let report: HealthReport
    let fleet: HealthReport.Fleet

    /// Publishes the status, and waits until the broker has it or the deadline is reached.
    /// - Parameter replacesOther: whether the report may replace that of another collector with this id.
    /// - Returns: whether the broker has a report of this collector, or of another one that it does not replace.
    func publish(
        _ status: CollectorHealth.Status, replacesOther: Bool, until deadline: ContinuousClock.Instant
    ) -> Bool {
        let configuration = configuration
        let report = report
        var exchange = Exchange()
        let link = BrokerLink(wakeup: Wakeup(), version: configuration.mqttVersion, node: configuration.node) {
            version in
            MQTTOptions(
                address: configuration.broker,
                clientID: MQTTOptions.clientID(
                    "collector", configuration.id.rawValue, "report", "\(UInt32.random(in: .min ... .max))"),
                keepAlive: configuration.keepAlive, version: version, tls: configuration.tls)
        }
        // Whoever may replace the report of another one need not read it.
        let filters = replacesOther ? [] : [configuration.healthTopic]
        let session = BrokerSession(link, qos: .atMostOnce, awaitsRetained: true, filters: { filters }) { message in
            guard let health = try? CollectorHealth.decode(Data(message.payload)) else { return }
            exchange.isReplaced = !report.isOwn(health)
        }
        defer { session.close(until: deadline) }
        while .now < deadline {
            for event in session.next(until: deadline) + session.send() {
                switch exchange.handle(event) {
                case .wait: break
                case .publish: report.publish(status, counting: fleet, over: link, at: .now())
                case .end(let isReported): return isReported
                }
            }
        }
        return false
    }

    /// The decisions, without I/O: events of the session in, actions out.
    struct Exchange {
        enum Action: Equatable {
            case wait
            case publish
            /// - Parameter isReported: whether the broker has a report of this collector, or of another one that took over.
            case end(isReported: Bool)
        }

        /// Whether the retained report is of another collector.
        var isReplaced = false

        func handle(_ event: BrokerSession.Event) -> Action {
            switch event {
            case .ready: isReplaced ? .end(isReported: true) : .publish
            // The report could replace that of another collector, which cannot be read.
            case .denied: .end(isReported: false)
            case .published(_, let refusal): .end(isReported: refusal == nil)
            case .connected, .interrupted: .wait
            }
        }
    }
}
