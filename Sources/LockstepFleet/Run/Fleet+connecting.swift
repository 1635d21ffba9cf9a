import LockstepAgent
import LockstepMQTT
import LockstepModel
import LockstepWire

extension Fleet {
    /// µs for the broker to answer, and for a further connection to come about.
    private static let brokerPatience: Int64 = 10_000_000
    private static let connectionPatience: Int64 = 30_000_000
    /// µs from the subscription until a collector's retained word is there.
    private static let collectorPatience: Int64 = 3_000_000

    static func makeObserver(_ configuration: FleetConfiguration, wakeup: Wakeup) -> BrokerLink {
        let id = "lockstep-simulate-\(configuration.plan.run.microseconds)"
        return BrokerLink(wakeup: wakeup, version: configuration.mqttVersion) { version in
            MQTTOptions(
                address: configuration.broker, clientID: id, keepAlive: configuration.keepAlive, version: version,
                tls: configuration.tls)
        }
    }

    /// Makes all links; none connects yet.
    func addLinks() {
        group.add(observer)
        observer.onMessage = { [unowned self] message in self.observe(message) }
        for number in 0..<configuration.connections {
            let own = Array(stride(from: number, to: plan.devices, by: configuration.connections))
            let link = BrokerLink(wakeup: group.wakeup, version: configuration.mqttVersion) {
                [unowned self] version in self.options(of: number, devices: own, version: version)
            }
            link.onMessage = { [unowned self] message in self.hear(message) }
            connections.append(FleetConnection(link: link, devices: own))
            group.add(link)
        }
    }

    private func options(of number: Int, devices own: [Int], version: MQTTVersion) -> MQTTOptions {
        MQTTOptions(
            address: configuration.broker, clientID: "lockstep-simulate-\(plan.run.microseconds)-\(number)",
            keepAlive: configuration.keepAlive,
            // A connection has one will, so only a device that has one to itself can have one.
            will: own.count == 1 ? presence(of: own[0], .lost, reason: "connection-lost") : nil, version: version,
            tls: configuration.tls)
    }

    /// Connects: first the observer, which looks for a collector, then everybody.
    func connect(until isInterrupted: () -> Bool) throws(FleetError) {
        opened = 1
        unsettled = [0]
        try wait(Self.brokerPatience, until: { self.hasObserverSubscribed || isInterrupted() }) {
            FleetError(
                "\(self.configuration.broker): \(self.lastError.map { "\($0)" } ?? "no answer"): is a broker running there?"
            )
        }
        try wait(Self.collectorPatience, until: { self.outcome.collectors.isAnyOnline || isInterrupted() }) {
            FleetError(
                self.outcome.collectors.problem.map { "the collector takes nothing in: \($0)" }
                    ?? """
                    no collector is online at \(self.configuration.broker): start one \
                    (lockstep-collector --broker \(self.configuration.broker) --store sqlite:samples.db)
                    """)
        }
        var ready = 0
        while ready < connections.count, !isInterrupted() {
            let before = ready
            try wait(
                Self.connectionPatience,
                until: {
                    self.openMore()
                    ready = self.connections.count(where: \.isReady)
                    return ready > before || isInterrupted()
                }
            ) {
                FleetError(
                    """
                    only \(ready) of \(self.connections.count) connections came about: \
                    \(self.lastError.map { "\($0)" } ?? "no answer"); does the broker take so many \
                    (max_connections, its own limit of descriptors)?
                    """)
            }
        }
    }

    private func openMore() {
        while opened < group.links.count, unsettled.count < Self.mostConnecting {
            unsettled.insert(opened)
            opened += 1
        }
    }

    private func wait(
        _ patience: Int64, until isDone: () -> Bool, orThrow error: () -> FleetError
    ) throws(FleetError) {
        let deadline = Moment.now().boot + patience
        while !isDone() {
            guard Moment.now().boot < deadline else { throw error() }
            try turn()
        }
    }
}
