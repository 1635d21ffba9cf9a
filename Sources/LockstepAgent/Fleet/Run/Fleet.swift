import FoundationEssentials
import Glibc
import LockstepMQTT
public import LockstepModel
import LockstepWire

/// Simulates many devices on one thread. Each publishes the batches of its plan like an agent, receives the collector's
/// acknowledgements, and sends missing batches again.
///
/// It stores the numbers of batches but not the batches, so that its memory does not grow with the duration of the run.
public final class Fleet {
    /// The maximum number of connections that are being established at the same time.
    static let maxConnecting = 64
    /// The maximum number of messages of one connection without a PUBACK. MQTT has 65,535 message ids.
    static let maxInFlight = 20_000
    /// The maximum number of live batches that are published before the next read.
    private static let maxPublished = 1000
    /// The heartbeat interval of a device, in µs: the default of an agent.
    private static let heartbeat: Int64 = 30_000_000

    let configuration: FleetConfiguration
    let group: LinkGroup
    /// The link that receives the status of collectors and of the broker: link 0 of the group.
    let observer: BrokerLink
    /// The connections of the devices: links 1… of the group.
    var connections: [FleetConnection] = []
    var devices: [SimulatedDevice]
    /// The results so far.
    public internal(set) var outcome: FleetOutcome

    /// The backlog that was not published yet. It is part of ``FleetOutcome/accepted``.
    var unsentBacklog = FleetOutcome.Amount()

    /// The number of started links, including the observer.
    var opened = 0
    /// The numbers of started links that are not up.
    var connecting: Set<Int> = []
    /// The numbers of links with messages to send in this turn.
    var pendingLinks: Set<Int> = []
    /// The error that ends the run, set by a callback.
    var failure: FleetError?
    /// The error of the last failed connection.
    var lastError: MQTTError?
    /// The id of the observer's subscription to the health of collectors.
    var collectorSubscription: Int32?
    /// Whether the broker has answered this subscription.
    var hasObserverSubscribed = false
    /// The start of live data, in µs of the boot clock; nil before.
    var startBoot: Int64?
    /// Whether no more live data is published: all of it was published, or the user ended the run.
    private var isEnding = false

    /// The schedule of live batches.
    private var live: RoundRobin
    private var heartbeats: RoundRobin
    /// The schedule for publishing the backlog of each device.
    private var deviceChecks: RoundRobin
    /// The schedule for keep-alives and reconnects of each link.
    private var linkChecks: RoundRobin
    /// The schedule for polling links that are connecting on another thread.
    private var connectingChecks = RoundRobin(count: 1, period: 10_000)
    private var memoryChecks = RoundRobin(count: 1, period: 10_000_000)
    /// The creation time of the fleet, in µs of the boot clock.
    private let createdAt = Moment.now().boot

    /// Creates a fleet. It does not connect yet.
    /// - Throws: ``FleetError`` if the limit of file descriptors is too low.
    public init(_ configuration: FleetConfiguration, wakeup: Wakeup) throws {
        try Descriptors.raiseLimit(for: configuration.connections)
        self.configuration = configuration
        let plan = configuration.plan
        outcome = FleetOutcome(plan: plan, connections: configuration.connections)
        group = try LinkGroup(wakeup: wakeup)
        let boot = createdAt
        devices = (0..<plan.devices).map {
            SimulatedDevice($0, of: plan, backlogRate: configuration.backlogRate, at: boot)
        }
        live = plan.liveTurns
        heartbeats = RoundRobin(count: plan.devices, period: Self.heartbeat)
        deviceChecks = RoundRobin(count: plan.devices, period: 200_000)
        linkChecks = RoundRobin(count: configuration.connections + 1, period: 500_000)
        observer = Self.makeObserver(configuration, wakeup: wakeup)
        addLinks()
    }

    var plan: FleetPlan {
        get { outcome.plan }
        set { outcome.plan = newValue }
    }

    /// The time since the start of live data, in µs; 0 before the start.
    var elapsed: Int64 { startBoot.map { Moment.now().boot - $0 } ?? 0 }

    /// Connects, publishes all data, waits for its acknowledgement, and disconnects.
    /// - Parameters:
    ///   - isInterrupted: returns true to end live data early.
    ///   - progress: called every ten seconds.
    /// - Throws: ``FleetError`` if there is no broker, no collector or too few connections.
    public func run(
        until isInterrupted: () -> Bool, progress: (FleetOutcome) -> Void = { _ in }
    ) throws(FleetError) -> FleetOutcome {
        try connect(until: isInterrupted)
        start()
        while !isEnding {
            try turn()
            if memoryChecks.next(by: elapsed) != nil {
                recordMemory()
                progress(outcome)
            }
            outcome.wasInterrupted = isInterrupted()
            isEnding = outcome.wasInterrupted || live.turn >= plan.liveBatches
        }
        try drain(progress)
        end()
        return outcome
    }

    /// Performs one pass of the main loop: waits a few milliseconds for events, then reads, publishes and writes.
    func turn() throws(FleetError) {
        let ready = group.wait(until: .now + .milliseconds(connecting.isEmpty ? 10 : 5))
        for number in ready { service(number) }
        let boot = Moment.now().boot
        for number in linkChecks.takeDueItems(by: boot - createdAt) where number < opened { service(number) }
        if !connectingChecks.takeDueItems(by: boot - createdAt).isEmpty { for number in connecting { service(number) } }
        if let startBoot { publishScheduled(at: boot, elapsed: boot - startBoot) }
        for number in pendingLinks { service(number) }
        pendingLinks.removeAll(keepingCapacity: true)
        if let failure { throw failure }
    }

    /// Performs the pending work of a link: connects, reads, writes or pings.
    private func service(_ number: Int) {
        let link = group.links[number]
        for event in link.read(limit: 1000) { handle(event, of: number) }
        for event in link.write() { handle(event, of: number) }
        if link.isUp { connecting.remove(number) } else { connecting.insert(number) }
        group.update(number)
    }

    /// Publishes the live batches, heartbeats and backlog whose time has come.
    private func publishScheduled(at boot: Int64, elapsed: Int64) {
        if !isEnding { outcome.elapsed = elapsed }
        publishScheduledLive(by: elapsed)
        for device in heartbeats.takeDueItems(by: elapsed) {
            publishPresence(of: device, .foreground, reason: "heartbeat")
        }
        for device in deviceChecks.takeDueItems(by: elapsed) {
            publishBacklog(of: device, at: boot)
            // The backlog of one device must not delay the live data of another.
            publishScheduledLive(by: self.elapsed)
        }
    }

    private func publishScheduledLive(by elapsed: Int64) {
        var remaining = Self.maxPublished
        while !isEnding, remaining > 0, live.turn < plan.liveBatches, let turn = live.next(by: elapsed) {
            let (device, seq) = plan.liveBatch(turn: turn)
            publishLive(seq, of: device, lateness: elapsed - live.time(ofTurn: turn))
            remaining -= 1
        }
    }

    func recordMemory() {
        if let memory = ProcessMemory.now() { outcome.ownMemory.add(memory.current, at: elapsed) }
    }

    /// Starts the clock of live data and the counts.
    private func start() {
        let moment = Moment.now()
        plan.start = moment.wall
        startBoot = moment.boot
        outcome.collectors.start()
        let backlog = Int64(plan.devices) * plan.backlogBatches
        unsentBacklog.batches = Int(backlog)
        unsentBacklog.samples =
            plan.backlogBatches == 0
            ? 0 : (1...plan.backlogBatches).reduce(0) { $0 + plan.sampleCount($1) } * plan.devices
        outcome.accepted = unsentBacklog
    }

    /// Waits until all batches are acknowledged or no acknowledgement arrives for `patience`, and then for the final
    /// counts of the collectors.
    private func drain(_ progress: (FleetOutcome) -> Void) throws(FleetError) {
        if outcome.wasInterrupted { discardUnsentBacklog() }
        let since = elapsed
        while outcome.lost.batches > 0, elapsed - max(since, outcome.delivered) < configuration.patience {
            try turn()
            if memoryChecks.next(by: elapsed) != nil {
                recordMemory()
                progress(outcome)
            }
        }
        // Collectors report every ten seconds. A report that is sent at least a second after the last acknowledgement
        // includes all acknowledged samples.
        let last = outcome.delivered + 1_000_000
        let deadline = max(elapsed, last) + 15_000_000
        while !outcome.collectors.isCurrent(after: last), elapsed < deadline { try turn() }
    }

    /// After an interruption, removes the backlog that was never sent from the expected data, because it may take long.
    ///
    /// Complete live batches stay. Some of them could not be sent during an outage although later ones were, so that their
    /// numbers would be missing in the store.
    private func discardUnsentBacklog() {
        guard plan.backlogBatches > 0 else { return }
        outcome.accepted.batches -= unsentBacklog.batches
        outcome.accepted.samples -= unsentBacklog.samples
        for index in devices.indices {
            let unsent = SequenceSet([1...plan.backlogBatches]).subtracting(devices[index].log.sent)
            devices[index].delivery.forget([devices[index].epoch: unsent])
        }
    }

    /// Publishes the phase `terminated` for every device, and disconnects.
    private func end() {
        recordMemory()
        for device in devices.indices { publishPresence(of: device, .terminated, reason: "end") }
        let deadline = ContinuousClock.now + .seconds(3)
        for link in group.links {
            _ = link.write()
            link.stop(until: max(deadline, .now + .milliseconds(10)))
        }
    }
}

extension Fleet {
    /// The timeout of the observer's connection, in µs.
    private static let brokerTimeout: Int64 = 10_000_000
    /// The time without a new connection after which connecting fails, in µs.
    private static let connectionTimeout: Int64 = 30_000_000
    /// The timeout from the observer's subscription to the retained status of a collector, in µs.
    private static let collectorTimeout: Int64 = 3_000_000

    /// Creates the link that receives the status of collectors and of the broker.
    static func makeObserver(_ configuration: FleetConfiguration, wakeup: Wakeup) -> BrokerLink {
        configuration.broker.link(clientID: clientID(of: configuration.plan), wakeup: wakeup)
    }

    /// Returns the client id of a connection; without a number, that of the observer. Two runs that begin at the same time, on
    /// one machine or on several, have different ones: a broker would let them end each other's connections.
    private static func clientID(of plan: FleetPlan, _ number: Int? = nil) -> String {
        let run = MQTTOptions.clientID(
            "simulate", plan.group.rawValue, "\(plan.run.microseconds)", "\(getpid())")
        return number.map { "\(run)-\($0)" } ?? run
    }

    /// Creates all links. None connects yet.
    func addLinks() {
        group.add(observer)
        observer.onMessage = { [unowned self] message in self.observe(message) }
        for number in 0..<configuration.connections {
            let indexes = Array(stride(from: number, to: plan.devices, by: configuration.connections))
            let link = BrokerLink(wakeup: group.wakeup, version: configuration.broker.version) {
                [unowned self] version in self.options(of: number, devices: indexes, version: version)
            }
            link.onMessage = { [unowned self] message in self.receive(message) }
            connections.append(FleetConnection(link: link, devices: indexes))
            group.add(link)
        }
    }

    /// Returns the options of the connection that these devices share.
    private func options(of number: Int, devices indexes: [Int], version: MQTTVersion) -> MQTTOptions {
        configuration.broker.options(
            clientID: Self.clientID(of: plan, number), version: version,
            // A connection has only one last will, so shared connections have none.
            will: indexes.count == 1 ? presence(of: indexes[0], .lost, reason: "connection-lost") : nil)
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

extension Fleet {
    /// The time from a subscription to the first backlog, in µs, as in an agent.
    private static let backlogDelay: Int64 = 500_000
    /// The topic on which mosquitto reports its memory, in bytes.
    private static let brokerMemoryTopic = "$SYS/broker/heap/current"

    func handle(_ event: BrokerLink.Event, of number: Int) {
        switch event {
        case .failed(let error, _):
            fail(error)
        case .disconnected(let error, _):
            fail(error)
            if startBoot != nil { outcome.disconnections += 1 }
        case .connected, .published, .subscribed: break
        }
        if number == 0 { handleObserver(event) } else { handle(event, of: connections[number - 1]) }
    }

    /// Records the error of a connection. An error that retrying cannot resolve ends the run.
    private func fail(_ error: MQTTError) {
        lastError = error
        if error.isPermanent { failure = FleetError("\(configuration.broker): \(error)") }
    }

    private func handleObserver(_ event: BrokerLink.Event) {
        switch event {
        case .connected:
            do {
                collectorSubscription = try observer.subscribe(
                    to: configuration.root.collectorFilter, qos: .atMostOnce)
                try observer.subscribe(to: Self.brokerMemoryTopic, qos: .atMostOnce)
            } catch {
                failure = FleetError("\(configuration.broker): \(error)")
            }
        case .subscribed(let id, let isGranted):
            guard id == collectorSubscription else { break }
            if !isGranted {
                failure = FleetError(
                    "the broker refused a subscription: allow this user to read the health of collectors, "
                        + "'\(configuration.root.collectorFilter)'")
            }
            hasObserverSubscribed = true
        case .failed, .disconnected, .published: break
        }
    }

    private func handle(_ event: BrokerLink.Event, of connection: FleetConnection) {
        let boot = Moment.now().boot
        switch event {
        case .connected: didConnect(connection, at: boot)
        case .disconnected:
            connection.granted = 0
            connection.backlogFrom = .max
            connection.inFlight.removeAll(keepingCapacity: true)
            connection.window = LinkWindow()
            for device in connection.devices { devices[device].delivery.didDisconnect() }
        case .subscribed(_, let isGranted):
            if !isGranted {
                failure = FleetError(
                    "the broker refused a subscription: allow this user to read the ack topics of all devices in the "
                        + "group")
            }
            connection.granted += 1
            if connection.granted == connection.devices.count { connection.backlogFrom = boot + Self.backlogDelay }
        case .published(let id, let refusal):
            guard let device = connection.inFlight.removeValue(forKey: id) else { return }
            if let refusal {
                outcome.refusals.insert("\(refusal)")
                if refusal.code == .notAuthorized {
                    failure = FleetError(
                        "the broker does not let this user publish samples of \(devices[device].address): use a user that "
                            + "may write the topics of all devices in the group")
                }
                devices[device].delivery.didRefuse(id, at: boot)
                connection.window.didRefuse(id)
            } else {
                outcome.confirmed += 1
                _ = devices[device].delivery.didReceivePuback(id, at: boot)
                connection.window.didReceivePuback(id, at: boot)
            }
        case .failed: break
        }
    }

    private func didConnect(_ connection: FleetConnection, at boot: Int64) {
        for device in connection.devices {
            devices[device].delivery.didConnect(at: boot)
            do {
                try connection.link.subscribe(
                    to: configuration.root.topic(devices[device].address, .ack), qos: .atMostOnce)
            } catch {
                outcome.refusals.insert("\(error)")
            }
            publishPresence(of: device, .foreground, reason: startBoot == nil ? "start" : "reconnect")
        }
    }

    func observe(_ message: IncomingMessage) {
        if message.topic == Self.brokerMemoryTopic {
            if let bytes = Int(String(decoding: message.payload, as: UTF8.self)) {
                outcome.brokerMemory.add(bytes, at: elapsed)
            }
            return
        }
        guard case .collector(let group, let id) = try? configuration.root.parse(message.topic),
            let health = try? CollectorHealth.decode(Data(message.payload))
        else { return }
        outcome.collectors.record(health, from: "\(group)/\(id)", at: elapsed)
    }

    /// Handles an acknowledgement for a device.
    func receive(_ message: IncomingMessage) {
        guard case .device(let address, .ack) = try? configuration.root.parse(message.topic),
            let device = plan.index(of: address),
            let ack = try? AcknowledgementJSON.decode(Data(message.payload)),
            // A retained acknowledgement may belong to an earlier run.
            ack.epoch == devices[device].epoch
        else { return }
        devices[device].delivery.handle(ack, at: Moment.now().boot)
        let new = devices[device].log.handle(ack, of: device, plan: plan, at: elapsed)
        for lag in new.liveLags { outcome.liveLag.record(lag) }
        for lag in new.backlogLags { outcome.backlogLag.record(lag) }
        outcome.acknowledged.batches += new.batches
        outcome.acknowledged.samples += new.samples
        if new.batches > 0 { outcome.delivered = elapsed }
    }
}

extension Fleet {
    func connectionNumber(of device: Int) -> Int { device % connections.count }

    /// Publishes a complete live batch, or adds it to the backlog if it cannot be published now.
    /// - Parameter lateness: the time since the completion of the batch, in µs.
    func publishLive(_ seq: Int64, of device: Int, lateness: Int64) {
        outcome.accepted.batches += 1
        outcome.accepted.samples += plan.sampleCount(seq)
        outcome.lateness.record(lateness)
        guard devices[device].delivery.inFlightCount < DeviceDelivery.maxInFlight,
            publish(seq, of: device) != nil
        else { return devices[device].delivery.enqueue(BatchPosition(epoch: devices[device].epoch, seq: seq)) }
    }

    /// Publishes pending batches of a device within its byte rate: backlog, and batches to send again.
    func publishBacklog(of device: Int, at boot: Int64) {
        devices[device].delivery.tick(at: boot)
        let connection = connections[connectionNumber(of: device)]
        guard boot >= connection.backlogFrom else { return }
        while connection.window.isOpen, devices[device].delivery.canSendBacklog,
            devices[device].budget.isOpen(at: boot),
            let position = devices[device].delivery.nextBacklog(limit: 1).first,
            let bytes = publish(position.seq, of: device, asBacklogAt: boot)
        {
            devices[device].budget.spend(bytes)
        }
    }

    /// - Parameter boot: the time on the boot clock, in µs, for backlog; nil for a live batch.
    /// - Returns: the size of the payload in bytes, or nil if the batch was not published.
    private func publish(_ seq: Int64, of device: Int, asBacklogAt boot: Int64? = nil) -> Int? {
        let number = connectionNumber(of: device)
        let connection = connections[number]
        guard connection.link.isUp, connection.inFlight.count < Self.maxInFlight else { return nil }
        let position = BatchPosition(epoch: devices[device].epoch, seq: seq)
        let (payload, stream) = plan.payload(device: device, seq: seq, isLate: boot != nil)
        do {
            let topic = configuration.root.topic(devices[device].address, .stream(stream))
            guard let id = try connection.link.publish(MQTTMessage(topic: topic, payload: payload)) else { return nil }
            connection.inFlight[id] = device
            if let boot {
                devices[device].delivery.didPublishBacklog(position, as: id, at: boot)
            } else {
                devices[device].delivery.didPublish(position, as: id, at: Moment.now().boot)
            }
            connection.window.didPublish(
                id, bytes: payload.count, isBacklog: boot != nil, at: boot ?? Moment.now().boot)
        } catch {
            outcome.refusals.insert("\(error)")
            if error.code == .tooLarge { devices[device].delivery.markTooLarge(position) }
            return nil
        }
        pendingLinks.insert(number + 1)
        if devices[device].log.publish(seq, isBacklog: plan.isBacklog(seq), at: elapsed) {
            outcome.sent.batches += 1
            outcome.sent.samples += plan.sampleCount(seq)
            if plan.isBacklog(seq) {
                unsentBacklog.batches -= 1
                unsentBacklog.samples -= plan.sampleCount(seq)
            }
        } else {
            outcome.resent += 1
        }
        return payload.count
    }

    /// Publishes the presence of a device, if its link is up.
    func publishPresence(of device: Int, _ phase: Phase, reason: String) {
        let number = connectionNumber(of: device)
        do {
            guard try connections[number].link.publish(presence(of: device, phase, reason: reason)) != nil else {
                return
            }
            pendingLinks.insert(number + 1)
        } catch {
            outcome.refusals.insert("\(error)")
        }
    }

    func presence(of device: Int, _ phase: Phase, reason: String) -> MQTTMessage {
        let address = devices[device].address
        let epoch = devices[device].epoch
        let pending = devices[device].delivery.pending(of: epoch)
        let presence = Presence(
            epoch: epoch, session: plan.run.microseconds, phase: phase, at: Moment.now().wall, reason: reason,
            pending: pending.isEmpty ? [:] : [epoch: pending], sources: ["simulate": "running"])
        return MQTTMessage(
            topic: configuration.root.topic(address, .presence), payload: PresenceJSON.encode(presence),
            isRetained: true)
    }
}

/// One connection, and the devices that share it.
final class FleetConnection {
    let link: BrokerLink
    let devices: [Int]
    /// The device of each batch without a PUBACK, by message id.
    var inFlight: [Int32: Int] = [:]
    /// The limit of the backlog on its way to the broker.
    var window = LinkWindow()
    /// The number of granted subscriptions to acknowledgements.
    var granted = 0
    /// The time from which backlog may be published, in µs of the boot clock. Retained acknowledgements arrive
    /// before that, and batches that they cover need not be published.
    var backlogFrom = Int64.max

    init(link: BrokerLink, devices: [Int]) {
        self.link = link
        self.devices = devices
    }

    var isReady: Bool { link.isUp && granted >= devices.count }
}

/// A simulated device: the delivery state of an agent without stored samples.
struct SimulatedDevice {
    let address: DeviceAddress
    let epoch: Epoch
    var delivery: DeviceDelivery
    /// Limits the rate of backlog.
    var budget: ByteBudget
    var log = DeliveryLog()

    init(_ index: Int, of plan: FleetPlan, backlogRate: Int, at boot: Int64) {
        address = plan.address(index)
        epoch = plan.epoch(index)
        let backlog = plan.backlogBatches
        delivery = DeviceDelivery(pending: backlog > 0 ? [epoch: SequenceSet([1...backlog])] : [:])
        budget = ByteBudget(rate: backlogRate, at: boot)
    }
}
