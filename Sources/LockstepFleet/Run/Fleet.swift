import LockstepAgent
public import LockstepMQTT
import LockstepModel
import LockstepSupervision
import LockstepWire

/// Many devices in one process, on one thread: each sends what its plan says as an agent would, hears the collector's
/// acknowledgements, and sends again what is missing.
///
/// It keeps numbers of batches, not batches, so that its memory does not grow with the time it runs.
public final class Fleet {
    /// Connections that are made at the same time.
    static let mostConnecting = 64
    /// Messages of one connection that the broker has not confirmed: there are 65,535 ids.
    static let maxInFlight = 20_000
    /// Live batches published before the next look at what has come.
    private static let mostPublished = 1000
    /// µs between two presences of a device that say nothing new, as of an agent.
    private static let heartbeat: Int64 = 30_000_000

    let configuration: FleetConfiguration
    let group: LinkGroup
    /// Listens to collectors and to the broker itself: link 0 of the group.
    let observer: BrokerLink
    /// The links 1… of the group.
    var connections: [FleetConnection] = []
    var devices: [SimulatedDevice]
    public internal(set) var outcome: FleetOutcome

    /// Links that were started, the observer's among them.
    var opened = 0
    /// Numbers of started links that are not up.
    var unsettled: Set<Int> = []
    /// Numbers of links with something to send.
    var touched: Set<Int> = []
    /// What ends the run, found inside a callback.
    var failure: FleetError?
    /// Why the last connection failed.
    var lastError: MQTTError?
    var hasObserverSubscribed = false
    /// Boot time at which live data began, in µs.
    var beginBoot: Int64?
    /// Whether no new data is due any more.
    private var isEnding = false

    private var live: Rotation
    private var heartbeats: Rotation
    private var deviceChecks: Rotation
    private var linkChecks: Rotation
    /// What connects on another thread, or waits to, is asked so often how far it is.
    private var settlingChecks = Rotation(count: 1, period: 10_000)
    private var memoryChecks = Rotation(count: 1, period: 10_000_000)
    private let madeAt = Moment.now().boot

    /// - Throws: ``FleetError`` where the process may not have so many descriptors.
    public init(_ configuration: FleetConfiguration, wakeup: Wakeup) throws {
        try Descriptors.provide(for: configuration.connections)
        self.configuration = configuration
        let plan = configuration.plan
        outcome = FleetOutcome(plan: plan, connections: configuration.connections)
        group = try LinkGroup(wakeup: wakeup)
        let boot = madeAt
        devices = (0..<plan.devices).map {
            SimulatedDevice($0, of: plan, backlogRate: configuration.backlogRate, at: boot)
        }
        live = plan.liveTurns
        heartbeats = Rotation(count: plan.devices, period: Self.heartbeat)
        deviceChecks = Rotation(count: plan.devices, period: 200_000)
        linkChecks = Rotation(count: configuration.connections + 1, period: 500_000)
        observer = Self.makeObserver(configuration, wakeup: wakeup)
        addLinks()
    }

    var plan: FleetPlan {
        get { outcome.plan }
        set { outcome.plan = newValue }
    }

    /// µs since live data began; 0 before.
    var elapsed: Int64 { beginBoot.map { Moment.now().boot - $0 } ?? 0 }

    /// Connects, sends everything, waits for its acknowledgements, and says goodbye.
    /// - Parameters:
    ///   - isInterrupted: true ends live data early.
    ///   - progress: called every ten seconds.
    /// - Throws: ``FleetError``: no broker, no collector, not enough connections.
    public func run(
        until isInterrupted: () -> Bool, progress: (FleetOutcome) -> Void = { _ in }
    ) throws(FleetError) -> FleetOutcome {
        try connect(until: isInterrupted)
        begin()
        while !isEnding {
            try turn()
            if memoryChecks.next(by: elapsed) != nil {
                noteMemory()
                progress(outcome)
            }
            outcome.wasInterrupted = isInterrupted()
            isEnding = outcome.wasInterrupted || live.turn >= plan.liveBatches
        }
        try drain(progress)
        end()
        return outcome
    }

    /// Waits a moment for something to do, and does all that is due.
    func turn() throws(FleetError) {
        let ready = group.wait(until: .now + .milliseconds(unsettled.isEmpty ? 10 : 5))
        for number in ready { use(number) }
        let boot = Moment.now().boot
        for number in linkChecks.takeDue(by: boot - madeAt) where number < opened { use(number) }
        if !settlingChecks.takeDue(by: boot - madeAt).isEmpty { for number in unsettled { use(number) } }
        if let beginBoot { publishDue(at: boot, elapsed: boot - beginBoot) }
        for number in touched { use(number) }
        touched.removeAll(keepingCapacity: true)
        if let failure { throw failure }
    }

    /// Lets a link read, write, connect, and keep alive.
    private func use(_ number: Int) {
        let link = group.links[number]
        for event in link.read(limit: 1000) { handle(event, of: number) }
        for event in link.write() { handle(event, of: number) }
        if link.isUp { unsettled.remove(number) } else { unsettled.insert(number) }
        group.update(number)
    }

    private func publishDue(at boot: Int64, elapsed: Int64) {
        if !isEnding { outcome.elapsed = elapsed }
        publishLiveDue(by: elapsed)
        for device in heartbeats.takeDue(by: elapsed) { publishPresence(of: device, .foreground, reason: "heartbeat") }
        for device in deviceChecks.takeDue(by: elapsed) {
            publishBacklog(of: device, at: boot)
            // No device's live data would wait for another's backlog.
            publishLiveDue(by: self.elapsed)
        }
    }

    private func publishLiveDue(by elapsed: Int64) {
        var left = Self.mostPublished
        while !isEnding, left > 0, live.turn < plan.liveBatches, let turn = live.next(by: elapsed) {
            let (device, seq) = plan.liveBatch(turn: turn)
            publishLive(seq, of: device, lateness: elapsed - live.due(turn))
            left -= 1
        }
    }

    func noteMemory() {
        if let memory = ProcessMemory.now() { outcome.ownMemory.add(memory.current, at: elapsed) }
    }

    private func begin() {
        let moment = Moment.now()
        plan.begin = moment.wall
        beginBoot = moment.boot
        outcome.collectors.begin()
        let backlog = Int64(plan.devices) * plan.backlogBatches
        outcome.accepted.batches = Int(backlog)
        outcome.accepted.samples =
            plan.backlogBatches == 0
            ? 0 : (1...plan.backlogBatches).reduce(0) { $0 + plan.sampleCount($1) } * plan.devices
    }

    /// Waits until everything is acknowledged, or nothing is any more, and then for the collectors' last counts.
    private func drain(_ progress: (FleetOutcome) -> Void) throws(FleetError) {
        if outcome.wasInterrupted { forgetUnsent() }
        let since = elapsed
        while outcome.lost.batches > 0, elapsed - max(since, outcome.delivered) < configuration.patience {
            try turn()
            if memoryChecks.next(by: elapsed) != nil {
                noteMemory()
                progress(outcome)
            }
        }
        // The counts that come a second later have what was acknowledged last; they come every ten.
        let last = outcome.delivered + 1_000_000
        let deadline = max(elapsed, last) + 15_000_000
        while !outcome.collectors.isCurrent(after: last), elapsed < deadline { try turn() }
    }

    /// Interrupted, what was never sent is nobody's loss.
    private func forgetUnsent() {
        outcome.accepted = outcome.sent
        let last = (plan.backlogRounds + plan.liveRounds) * Int64(plan.streams.count)
        for index in devices.indices {
            let unsent = SequenceSet([1...last]).subtracting(devices[index].book.sent)
            devices[index].delivery.forget([devices[index].epoch: unsent])
        }
    }

    /// Says for every device that it ends, and disconnects.
    private func end() {
        noteMemory()
        for device in devices.indices { publishPresence(of: device, .terminated, reason: "end") }
        for link in group.links {
            _ = link.write()
            link.stop(until: .now + .seconds(3))
        }
    }
}
