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
        var exchange = Exchange(replacesOther: replacesOther)
        let link = BrokerLink(wakeup: Wakeup(), version: configuration.mqttVersion, node: configuration.node) {
            version in
            MQTTOptions(
                address: configuration.broker,
                clientID: MQTTOptions.clientID(
                    "collector", configuration.id.rawValue, "report", "\(UInt32.random(in: .min ... .max))"),
                keepAlive: configuration.keepAlive, version: version, tls: configuration.tls)
        }
        link.onMessage = { message in
            guard let health = try? CollectorHealth.decode(Data(message.payload)) else { return }
            exchange.isReplaced = !report.isOwn(health)
        }
        defer {
            link.stop(until: deadline)
            link.onMessage = nil
        }
        while .now < deadline {
            link.wait(until: deadline)
            for event in link.read() + link.write() {
                switch exchange.handle(event) {
                case .wait: break
                case .subscribe: subscribe(link)
                case .publish: report.publish(status, counting: fleet, over: link, at: .now())
                case .end(let isReported): return isReported
                }
            }
        }
        return false
    }

    private func subscribe(_ link: BrokerLink) {
        // An error means that the connection has ended, which is the next event.
        _ = try? link.subscribe(to: configuration.healthTopic, qos: .atMostOnce)
    }

    /// The decisions, without I/O: events of the connection in, actions out.
    struct Exchange {
        enum Action: Equatable {
            case wait
            case subscribe
            case publish
            /// - Parameter isReported: whether the broker has a report of this collector, or of another one that took over.
            case end(isReported: Bool)
        }

        /// Whether the report may replace that of another collector.
        let replacesOther: Bool
        /// The number of confirmed subscriptions of this connection.
        private var answers = 0
        /// Whether the retained report is of another collector.
        var isReplaced = false

        init(replacesOther: Bool) { self.replacesOther = replacesOther }

        mutating func handle(_ event: BrokerLink.Event) -> Action {
            switch event {
            case .connected: return replacesOther ? .publish : .subscribe
            case .subscribed(_, let isGranted):
                // The report could replace that of another collector, which cannot be read.
                guard isGranted else { return .end(isReported: false) }
                // A broker answers in order: when it confirms the second subscription, it has sent the retained report.
                answers += 1
                return answers < 2 ? .subscribe : isReplaced ? .end(isReported: true) : .publish
            case .published(_, let refusal): return .end(isReported: refusal == nil)
            case .disconnected, .failed:
                answers = 0
                return .wait
            }
        }
    }
}
