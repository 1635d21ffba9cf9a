import LockstepMQTT
import LockstepModel
import LockstepWire

extension Fleet {
    /// The timeout of the observer's connection, in µs.
    private static let brokerTimeout: Int64 = 10_000_000
    /// The time without a new connection after which connecting fails, in µs.
    private static let connectionTimeout: Int64 = 30_000_000
    /// The timeout from the observer's subscription to the retained status of a collector, in µs.
    private static let collectorTimeout: Int64 = 3_000_000

    /// Creates the link that receives the status of collectors and of the broker.
    static func makeObserver(_ configuration: FleetConfiguration, wakeup: Wakeup) -> BrokerLink {
        let id = MQTTOptions.clientID("simulate", "\(configuration.plan.run.microseconds)")
        return BrokerLink(wakeup: wakeup, version: configuration.mqttVersion) { version in
            MQTTOptions(
                address: configuration.broker, clientID: id, keepAlive: configuration.keepAlive, version: version,
                tls: configuration.tls)
        }
    }

    /// Creates all links. None connects yet.
    func addLinks() {
        group.add(observer)
        observer.onMessage = { [unowned self] message in self.observe(message) }
        for number in 0..<configuration.connections {
            let indexes = Array(stride(from: number, to: plan.devices, by: configuration.connections))
            let link = BrokerLink(wakeup: group.wakeup, version: configuration.mqttVersion) {
                [unowned self] version in self.options(of: number, devices: indexes, version: version)
            }
            link.onMessage = { [unowned self] message in self.receive(message) }
            connections.append(FleetConnection(link: link, devices: indexes))
            group.add(link)
        }
    }

    /// Returns the options of the connection that these devices share.
    private func options(of number: Int, devices indexes: [Int], version: MQTTVersion) -> MQTTOptions {
        MQTTOptions(
            address: configuration.broker,
            clientID: MQTTOptions.clientID("simulate", "\(plan.run.microseconds)", "\(number)"),
            keepAlive: configuration.keepAlive,
            // A connection has only one last will, so shared connections have none.
            will: indexes.count == 1 ? presence(of: indexes[0], .lost, reason: "connection-lost") : nil,
            version: version, tls: configuration.tls)
    }

    /// Connects the observer, waits for a collector, and then connects all devices.
    func connect(until isInterrupted: () -> Bool) throws(FleetError) {
        opened = 1
        connecting = [0]
        try wait(Self.brokerTimeout, until: { self.hasObserverSubscribed || isInterrupted() }) {
            FleetError(
                "cannot connect to \(self.configuration.broker): \(self.lastError.map { "\($0)" } ?? "no answer")")
        }
        try wait(Self.collectorTimeout, until: { self.outcome.collectors.isAnyOnline || isInterrupted() }) {
            FleetError(
                self.outcome.collectors.problem.map { "the collector stores no data: \($0)" }
                    ?? """
                    no collector is online at \(self.configuration.broker): start one with \
                    lockstep-collector --broker \(self.configuration.broker) --store sqlite:samples.db
                    """)
        }
        var ready = 0
        while ready < connections.count, !isInterrupted() {
            let before = ready
            try wait(
                Self.connectionTimeout,
                until: {
                    self.openMore()
                    ready = self.connections.count(where: \.isReady)
                    return ready > before || isInterrupted()
                }
            ) {
                FleetError(
                    """
                    only \(ready) of \(self.connections.count) connections are established: \
                    \(self.lastError.map { "\($0)" } ?? "no answer"); check the connection limit of the broker \
                    (max_connections, file descriptors)
                    """)
            }
        }
    }

    /// Starts to connect further links, up to the maximum at the same time.
    private func openMore() {
        while opened < group.links.count, connecting.count < Self.maxConnecting {
            connecting.insert(opened)
            opened += 1
        }
    }

    /// Runs turns until `isDone` returns true.
    /// - Parameter timeout: the time in µs after which `error` is thrown.
    private func wait(
        _ timeout: Int64, until isDone: () -> Bool, orThrow error: () -> FleetError
    ) throws(FleetError) {
        let deadline = Moment.now().boot + timeout
        while !isDone() {
            guard Moment.now().boot < deadline else { throw error() }
            try turn()
        }
    }
}
