import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepWire
import Logging

/// The single thread of an agent: reads the inbox, the link and the clocks, and carries out what ``AgentState``
/// decides.
final class AgentLoop {
    let configuration: AgentConfiguration
    let inbox: Inbox
    let logger: Logger
    let supervisor: Supervisor
    let outbox: Outbox
    let link: BrokerLink
    let presencePublisher: PresencePublisher
    /// The topic of the answers of the time exchange.
    private let pongTopic: String
    var state: AgentState
    /// The id of the subscription to the answers of the time exchange.
    var clockSubscription: Int32?
    /// The state of the wall clock, and the time at which it was read, in µs of the boot clock.
    var discipline: KernelDiscipline?
    var disciplineReadAt: Int64 = 0
    private var certificates: CertificateWatch
    /// The time of the last check of the certificates, in µs of the boot clock.
    private var certificatesCheckedAt: Int64?

    /// - Throws: ``OutboxError`` if the outbox cannot be opened.
    init(
        _ configuration: AgentConfiguration, inbox: Inbox, wakeup: Wakeup, logger: Logger, supervisor: Supervisor
    ) throws {
        let now = Moment.now()
        self.configuration = configuration
        certificates = CertificateWatch(tls: configuration.broker.tls)
        self.inbox = inbox
        self.logger = logger
        self.supervisor = supervisor
        outbox = try Outbox(
            path: configuration.outboxPath, owner: .agent(configuration.address), limits: configuration.outboxLimits,
            encoding: configuration.encoding, keepsJournal: configuration.keepsJournal,
            streams: configuration.root.streams)
        state = AgentState(configuration, pending: outbox.pending, calibration: outbox.calibration(), at: now)
        pongTopic = configuration.root.topic(configuration.address, .clockPong)
        let presencePublisher = PresencePublisher(configuration: configuration, outbox: outbox, logger: logger)
        self.presencePublisher = presencePublisher
        link = BrokerLink(wakeup: wakeup, version: configuration.broker.version) { version in
            presencePublisher.connectionOptions(version: version)
        }
        link.onMessage = { [unowned self] message in receive(message) }
    }

    /// Runs until the agent is stopped, or all sources have ended and everything is delivered.
    /// - Throws: the error of a source that failed.
    func run() throws {
        logger.info(
            "agent started",
            metadata: [
                "device": "\(configuration.address)", "epoch": "\(outbox.epoch)",
                "outbox_batches": "\(state.delivery.unsentCount)",
            ])
        if let previous = outbox.previousDevice {
            logger.warning(
                "outbox of another device continued, new epoch started",
                metadata: ["previous": "\(previous)", "outbox": "\(configuration.outboxPath)"])
        }
        if let stored = outbox.calibration(), stored.sensors != state.motionSensors {
            logger.warning(
                "calibration of other sensors not applied",
                metadata: ["calibrated": "\(stored.sensors)", "sensors": "\(state.motionSensors ?? "none")"])
        }
        switch outbox.clockChange {
        case .steady: break
        case .wasSet: logger.warning("clock was set since the last run, new epoch started")
        case .isEarlier(let newest):
            logger.warning(
                "clock is earlier than samples of the last run, new epoch started",
                metadata: ["clock": "\(Moment.now().wall)", "newest_sample": "\(newest)"])
        }
        send(.started)
        while !state.isStopping {
            supervisor.didTurn(summary)
            waitForWork()
            step()
        }
        supervisor.willStop()
        finish()
        if let error = state.sourceError { throw error }
    }

    private func waitForWork() {
        let boot = Moment.now().boot
        let deadline = ContinuousClock.now + .microseconds(max(0, nextTurn(at: boot) - boot))
        link.wait(until: min(deadline, supervisor.nextTurn ?? deadline))
    }

    /// Returns the deadline for the start of the next turn, in µs of the boot clock.
    func nextTurn(at boot: Int64) -> Int64 {
        // The inbox signals once for all its items, and a disconnect may have consumed that signal.
        inbox.isEmpty ? state.nextTurn(at: boot) : boot
    }

    /// Runs one turn.
    func step(at moment: Moment = .now()) {
        send(.turnBegan, at: moment)
        if moment.boot - (certificatesCheckedAt ?? .min / 2) >= 3_600_000_000 { checkCertificates(at: moment) }
        for item in inbox.drain() { send(.item(item), at: moment) }
        for event in link.read() { send(event) }
        for stage in AgentState.Stage.beforeWrite { send(.stage(stage), at: moment) }
        exchangeTime()
        for event in link.write() { send(event) }
        send(.stage(.completion), at: moment)
    }

    /// Shuts down: writes and publishes the last samples, and disconnects. See ``AgentState/Shutdown``.
    private func finish() {
        send(.shutdownBegan(inbox.close()))
        send(.stage(.shutdown))
        while let next = state.nextShutdownStep(at: Moment.now().boot) {
            send(.stage(.backlog))
            for event in link.write() { send(event) }
            link.wait(until: .now + .microseconds(max(0, next - Moment.now().boot)))
            for event in link.read() { send(event) }
            send(.stage(.shutdown))
        }
    }

    /// Logs certificates that expire soon. The presence names those of the agent.
    private func checkCertificates(at moment: Moment) {
        certificatesCheckedAt = moment.boot
        logger.report(certificates.update(broker: link.certificateExpiry, at: moment.wall.microseconds))
        // Collectors report the broker's certificate.
        state.presence.certificates = certificates.times.filter { $0.key != CertificateWatch.Use.broker.rawValue }
    }

    private func receive(_ message: IncomingMessage) {
        if message.topic == pongTopic { return receivePong(message, at: .now()) }
        if message.topic == configuration.root.topic(configuration.address, .command) {
            // One byte above the limit is enough to recognise an oversized request.
            let payload = Data(message.payload.prefix(RequestJSON.maxBytes + 1))
            send(.request(payload, isRetained: message.isRetained))
            return
        }
        do {
            let ack = try AcknowledgementJSON.decode(Data(message.payload))
            send(.acknowledgement(ack, isNewerThanOutbox: outbox.isOlder(than: ack)))
        } catch {
            send(.unreadableAcknowledgement(error))
        }
    }

    private func send(_ event: BrokerLink.Event) {
        if updateClock(event) { return }
        if case .connected = event { checkCertificates(at: .now()) }
        send(.link(event, packetLimit: link.maxPacketSize, maxInFlight: link.maxInFlight))
        logger.reportUnansweredAddresses(of: link, configuration.broker)
    }

    /// Passes an event to the state and carries out the resulting actions, which may send further events.
    func send(_ event: AgentState.Event, at moment: Moment = .now()) {
        for action in state.handle(event, at: moment) { perform(action, at: moment) }
    }

    /// The status line for the supervisor.
    private var summary: String {
        (link.isUp ? "connected to \(configuration.broker)" : "no connection to \(configuration.broker)")
            + "; backlog of " + counted(state.delivery.unsentCount, "batch", "batches")
    }

    /// Reports progress during an action that may take long.
    func reportProgress() { supervisor.didTurn(summary) }
}

/// The comparison of the device's clock with those of the collectors.
extension AgentLoop {
    /// The interval at which the discipline of the wall clock is read, in µs.
    private static let disciplineInterval: Int64 = 5_000_000
    /// The longest random delay of the first request, in µs, so that not all devices ask at once after an outage.
    private static let maxDelay: Int64 = 1_000_000

    /// The device's time line minus the boot clock, in µs.
    private var lineOffset: Int64 { state.timeLine.timestamp(boot: 0).microseconds }

    /// Subscribes to the answers of the collectors.
    func subscribeToClock() {
        guard configuration.comparesClock else { return }
        do {
            clockSubscription = try link.subscribe(
                to: configuration.root.topic(configuration.address, .clockPong), qos: .atMostOnce)
            state.clock.didConnect(at: .now(), delay: .random(in: 0...Self.maxDelay))
        } catch {
            logger.error("cannot subscribe", metadata: ["error": "\(error)"])
        }
    }

    /// - Returns: whether the event is only about the clock.
    func updateClock(_ event: BrokerLink.Event) -> Bool {
        switch event {
        case .disconnected: state.clock.didDisconnect()
        case .subscribed(let id, let isGranted) where id == clockSubscription:
            if !isGranted {
                // Everything else works without it.
                state.clock.didDisconnect()
                logger.warning(
                    "subscription refused by broker, clock not compared",
                    metadata: ["hint": "allow this user to read the topic clock/pong of the device"])
            }
            return true
        default: break
        }
        return false
    }

    /// Handles an answer. `reading` was taken when it was received.
    func receivePong(_ message: IncomingMessage, at reading: ClockReading) {
        // An unreadable answer is a lost one.
        guard !message.isRetained, message.payload.count <= 1024,
            let pong = try? ClockJSON.decodePong(Data(message.payload))
        else { return }
        state.clock.receive(pong, at: reading, lineOffset: lineOffset)
    }

    /// Follows the clocks, and queues a request if one is due. Call it right before the link is written.
    func exchangeTime() {
        guard configuration.comparesClock else { return }
        let reading = ClockReading.now()
        if reading.boot - disciplineReadAt >= Self.disciplineInterval {
            discipline = .now()
            disciplineReadAt = reading.boot
        }
        state.clock.observe(reading, lineOffset: lineOffset, discipline: discipline)
        if state.clock.hasPoints {
            let points = state.clock.takePoints()
            if state.presence.clock.update(points, newest: state.clock.newest, discipline: discipline) {
                state.presence.isChanged = true
            }
        }
        guard let ping = state.clock.nextPing(at: reading) else { return }
        do {
            try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(configuration.address, .clockPing), payload: ClockJSON.encode(ping),
                    qos: .atMostOnce))
        } catch {
            logger.error("cannot publish clock request", metadata: ["error": "\(error)"])
        }
    }
}
