public import LockstepMQTT
import LockstepModel
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

    /// Records the memory of this process.
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
