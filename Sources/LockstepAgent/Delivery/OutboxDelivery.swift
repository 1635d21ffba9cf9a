package import LockstepMQTT
package import LockstepModel
package import Logging

/// The delivery of all batches of an outbox over one connection: decides what is published next, and what may be removed.
///
/// Agent and gateway pass in what happens (connection, PUBACK, acknowledgement, result of a publication), and carry out what
/// this value returns. It performs no I/O and reads no clock; all times are in µs of the boot clock.
///
/// Invariants:
/// - **Complete.** Each pending batch of the outbox is in the ``DeviceDelivery`` of its device, in exactly one of its states, until an
///   acknowledgement lists it as stored or the outbox drops it. A lost connection moves what is in flight to the backlog.
/// - **Removed.** Only a collector's acknowledgement makes a batch removable, or the broker's PUBACK if there is no collector.
///   It stays so until a commit of the outbox has succeeded.
/// - **Live first.** A new batch is published at once, unless too many messages are in flight. Backlog waits for the
///   acknowledgement that the broker retains, which may list most of it, and gets only what live batches leave: the
///   ``LinkWindow`` of the connection, and for each device its part of the collector's queue (``InFlightWindow``) and its byte rate.
/// - **Turns.** Devices take turns with their backlog, and epochs of a device, too: none can block the others.
/// - **Again.** A batch is sent again when it is lost by the evidence of acknowledgements, after a delay without any, and with
///   backoff if broker or collector refuses it.
/// - **Reported.** A problem that a person has to solve is reported once for each connection or interval, and is in
///   ``problem(of:at:)`` until it is solved.
package struct OutboxDelivery: Sendable {
    /// The maximum delay between an acknowledgement and the removal of its batches, in µs.
    static let removalDelay: Int64 = 2_000_000
    /// The delay from the subscription to the first backlog, in µs. The retained acknowledgement arrives in this time
    /// and may list most of the backlog as stored.
    static let acknowledgementDelay: Int64 = 500_000
    /// The time without an acknowledgement of any batch after which this is reported, in µs.
    static let acknowledgementPatience: Int64 = 30_000_000
    /// The time in which a message with QoS 1 is expected after one with QoS 0, and an acknowledgement after a PUBACK, in µs.
    static let confirmationDelay: Int64 = 5_000_000
    /// The maximum number of own messages without a PUBACK. MQTT has 65,535 message ids.
    static let maxInFlight = 10_000
    /// The maximum number of batches of the backlog that are read between two calls of ``beginBacklog()``.
    static let maxReads = 500

    /// The result of publishing a batch.
    package enum Outcome: Sendable {
        case published(id: Int32, bytes: Int, qos: QualityOfService = .atLeastOnce)
        /// There is no connection, or the maximum number of messages is in flight.
        case notPublished
        /// The broker does not accept messages of this size.
        case tooLarge
        /// The batch is no longer in the outbox.
        case missing
        case failed(any Error)

        /// Whether a further batch of the backlog may be published.
        package var allowsMore: Bool {
            switch self {
            case .published, .missing, .tooLarge: true
            case .notPublished, .failed: false
            }
        }
    }

    /// An entry for the log.
    package struct Report: Sendable {
        package let level: Logger.Level
        package let message: Logger.Message
        package let metadata: Logger.Metadata
        /// The device, or nil if it is about all of them.
        package let device: Int?
    }

    private struct Message: Sendable {
        let id: Int32
        let device: Int
    }

    private struct Device: Sendable {
        var delivery: DeviceDelivery
        /// The limit of the backlog's byte rate.
        var budget: ByteBudget
        /// The earliest time for backlog; `.max` until the acknowledgements are subscribed to.
        var backlogStart = Int64.max
        var refusals = CollectorRefusals()
        /// The batches that the last acknowledgement with such batches lists as missing and that are not in the outbox any
        /// more.
        var reportedGone: [Epoch: SequenceSet] = [:]

        var needsTick: Bool { !delivery.isEmpty || delivery.waitingSince != nil || refusals.isAny }
    }

    /// Acknowledged batches that are still in the outbox, by the index of their device.
    package private(set) var removable: [Int: [Epoch: SequenceSet]] = [:]
    /// The deadline for their removal, or nil if there are none.
    package private(set) var removalDeadline: Int64?
    package private(set) var isConnected = false
    /// Why batches cannot be read from the outbox, or nil.
    package private(set) var unreadable: String?
    /// The limit of the backlog of all devices on its way to the broker.
    package private(set) var window = LinkWindow()

    private var devices: [Device] = []
    /// The batches without a PUBACK, by the id of the message with QoS 1 that confirms them: its own, and those with QoS 0
    /// before it.
    private var inFlight: [Int32: [Message]] = [:]
    /// The batches with QoS 0 since the last message with QoS 1, and the time until which such a message is expected.
    private var unconfirmed: [Message] = []
    private var confirmation: Int64 = 0
    /// The number of batches without a PUBACK.
    package private(set) var inFlightCount = 0
    /// The device whose backlog is published at present, how many have not had their turn, and how many batches may be read.
    private var turn = (device: 0, left: 0, reads: 0)
    private var problems = ProblemLog()
    private let waitsForCollector: Bool
    private let backlogRate: Int

    /// - Parameters:
    ///   - waitsForCollector: whether the collector acknowledges batches; otherwise the broker does.
    ///   - backlogRate: the maximum rate of backlog of each device in bytes a second.
    package init(waitsForCollector: Bool = true, backlogRate: Int) {
        self.waitsForCollector = waitsForCollector
        self.backlogRate = backlogRate
    }

    /// Adds the next device of the outbox, whose backlog is `pending`.
    package mutating func add(pending: [Epoch: SequenceSet], at boot: Int64) {
        devices.append(
            Device(
                delivery: DeviceDelivery(pending: pending, waitsForCollector: waitsForCollector),
                budget: ByteBudget(rate: backlogRate, at: boot)))
    }

    /// Replaces everything about a device, whose batches have new numbers.
    mutating func replace(_ device: Int, pending: [Epoch: SequenceSet]) {
        devices[device].delivery = DeviceDelivery(pending: pending, waitsForCollector: waitsForCollector)
    }

    // MARK: - State

    package var count: Int { devices.count }
    /// Whether every batch is acknowledged.
    package var isEmpty: Bool { devices.allSatisfy(\.delivery.isEmpty) }
    /// Returns whether a device has batches that are not acknowledged.
    package func isActive(_ device: Int) -> Bool { !devices[device].delivery.isEmpty }
    package var awaitsPuback: Bool { !inFlight.isEmpty }
    package var unsentCount: Int64 { devices.reduce(0) { $0 + $1.delivery.unsentCount } }
    /// Whether backlog may be published now or soon, without a PUBACK.
    package var canSendBacklog: Bool {
        isConnected && window.isOpen && devices.contains { $0.delivery.canSendBacklog }
    }
    /// Returns whether the acknowledgements of a device with batches must be subscribed to.
    package func needsSubscription(_ device: Int) -> Bool { isConnected && devices[device].backlogStart == .max }

    /// Returns what a person has to solve before the batches of a device can be stored, or nil.
    package func problem(of device: Int, at boot: Int64) -> String? { devices[device].refusals.problem(at: boot) }

    // MARK: - Connection

    /// - Parameter maxInFlight: the number of messages with QoS 1 that the broker allows in flight; nil if it sets no limit.
    package mutating func didConnect(maxInFlight: Int? = nil, at boot: Int64) {
        isConnected = true
        window = LinkWindow(maxInFlight: maxInFlight)
        // Report them again if the new connection still has them.
        for problem in ["too large", "refusal", "backlog"] { problems.resolve(problem) }
        for index in devices.indices { devices[index].delivery.didConnect(at: boot) }
    }

    /// Records that the acknowledgements of a device are subscribed to.
    package mutating func didSubscribe(_ device: Int, at boot: Int64) {
        devices[device].backlogStart = min(devices[device].backlogStart, boot + Self.acknowledgementDelay)
    }

    package mutating func didDisconnect() {
        isConnected = false
        inFlight.removeAll()
        unconfirmed.removeAll()
        inFlightCount = 0
        for index in devices.indices {
            devices[index].delivery.didDisconnect()
            devices[index].backlogStart = .max
        }
    }

    // MARK: - Publishing

    package func canPublishLive(of device: Int) -> Bool {
        inFlightCount < Self.maxInFlight && devices[device].delivery.inFlightCount < DeviceDelivery.maxInFlight
    }

    /// Begins the turns of all devices with backlog.
    package mutating func beginBacklog() {
        turn = ((turn.device + 1) % max(1, devices.count), devices.count, Self.maxReads)
    }

    /// Returns the quality of service of the next message: 0 if a collector acknowledges batches, and the broker allows too few
    /// messages in flight for a PUBACK of each, see ``LinkWindow``. While no collector does, only the broker can keep them.
    package func quality(
        of position: BatchPosition, of device: Int = 0, isBacklog: Bool, at boot: Int64
    ) -> QualityOfService {
        guard waitsForCollector, !window.needsPuback(isBacklog: isBacklog),
            boot - (devices[device].delivery.waitingSince ?? boot) < Self.confirmationDelay,
            !devices[device].delivery.hasFailed(position)
        else { return .atLeastOnce }
        return .atMostOnce
    }

    /// Returns the next batch of the backlog to publish, or nil if there is none for now.
    package mutating func nextBacklogBatch(at boot: Int64) -> (device: Int, position: BatchPosition)? {
        guard isConnected, window.isOpen, inFlightCount < Self.maxInFlight, turn.reads > 0 else { return nil }
        while turn.left > 0 {
            let index = turn.device
            if boot >= devices[index].backlogStart, devices[index].delivery.canSendBacklog,
                devices[index].budget.isOpen(at: boot), let position = devices[index].delivery.nextBacklogBatch
            {
                turn.reads -= 1
                return (index, position)
            }
            turn.device = (index + 1) % devices.count
            turn.left -= 1
        }
        return nil
    }

    /// Records the result of publishing a batch. A batch that was not published is backlog.
    package mutating func didPublish(
        _ position: BatchPosition, of device: Int = 0, isBacklog: Bool, _ outcome: Outcome, at boot: Int64
    ) -> [Report] {
        if isBacklog { unreadable = nil }
        switch outcome {
        case .published(let id, let bytes, let qos):
            if isBacklog {
                devices[device].delivery.didPublishBacklog(position, as: id, qos: qos, at: boot)
                devices[device].budget.spend(bytes)
            } else {
                devices[device].delivery.didPublish(position, as: id, qos: qos, at: boot)
            }
            window.didPublish(id, bytes: bytes, isBacklog: isBacklog, qos: qos, at: boot)
            inFlightCount += 1
            if unconfirmed.isEmpty { confirmation = boot + Self.confirmationDelay }
            unconfirmed.append(Message(id: id, device: device))
            if qos == .atLeastOnce {
                inFlight[id] = unconfirmed
                unconfirmed = []
            }
            return []
        case .tooLarge:
            // It must not block the batches behind it.
            devices[device].delivery.markTooLarge(position)
            return report(
                .error, "batch too large for broker, kept in outbox", once: "too large",
                [
                    "epoch": "\(position.epoch)", "seq": "\(position.seq)",
                    "hint": "raise the maximum packet size of the broker",
                ], of: device)
        case .missing where isBacklog:
            forget([position.epoch: SequenceSet([position.seq...position.seq])], of: device)
            return []
        case .failed(let error) where isBacklog:
            if error is OutboxError { unreadable = "\(error)" }
            return report(.error, "cannot publish backlog", once: "backlog", ["error": "\(error)"], of: device)
        case .notPublished, .missing, .failed:
            devices[device].delivery.enqueue(position)
            return []
        }
    }

    /// Handles the PUBACK of a message. Those of other messages have no effect.
    package mutating func didReceivePuback(_ id: Int32, at boot: Int64) {
        window.didReceivePuback(id, at: boot)
        confirm(inFlight.removeValue(forKey: id) ?? [], at: boot)
    }

    private mutating func confirm(_ messages: [Message], at boot: Int64) {
        inFlightCount -= messages.count
        for message in messages {
            guard let position = devices[message.device].delivery.didReceivePuback(message.id, at: boot),
                !waitsForCollector
            else { continue }
            let batches = [position.epoch: SequenceSet([position.seq...position.seq])]
            markRemovable(batches, of: message.device, at: boot)
            forget(batches, of: message.device)
        }
    }

    /// Handles the refusal of a message by the broker.
    package mutating func didRefuse(_ id: Int32, _ error: MQTTError, at boot: Int64) -> [Report] {
        let device = inFlight[id]?.last?.device
        if let device, let messages = inFlight.removeValue(forKey: id) {
            devices[device].delivery.didRefuse(id, at: boot)
            // The broker has read those with QoS 0 before it.
            confirm(messages, at: boot)
        }
        window.didRefuse(id)
        return report(
            .error, "message refused by broker", once: "refusal",
            ["error": "\(error)", "hint": "check the access rights of this user"], of: device)
    }

    // MARK: - Collector

    /// - Returns: whether the collector waits for batches that are not here any more. It learns that from the presence.
    package mutating func handle(_ ack: Acknowledgement, of device: Int = 0, at boot: Int64) -> Bool {
        guard waitsForCollector else { return false }
        if let refusal = ack.refusal {
            let position = BatchPosition(epoch: ack.epoch, seq: refusal.seq)
            if devices[device].delivery.contains(position) {
                devices[device].refusals.didRefuse(position, reason: refusal.reason, at: boot)
            }
            return false
        }
        devices[device].delivery.handle(ack, at: boot)
        if isConnected { devices[device].backlogStart = min(devices[device].backlogStart, boot) }
        markRemovable([ack.epoch: ack.stored], of: device, at: boot)
        let gone = devices[device].delivery.gone(of: ack)
        guard !gone.isEmpty, devices[device].reportedGone != [ack.epoch: gone] else { return false }
        devices[device].reportedGone = [ack.epoch: gone]
        return true
    }

    /// Removes batches that are no longer in the outbox.
    package mutating func forget(_ batches: [Epoch: SequenceSet], of device: Int) {
        devices[device].delivery.forget(batches)
    }

    /// Marks acknowledged batches for removal, with the next commit or at the removal deadline.
    private mutating func markRemovable(_ batches: [Epoch: SequenceSet], of device: Int, at boot: Int64) {
        removable[device, default: [:]].formUnion(batches)
        requestCommit(at: boot)
    }

    /// Requests a commit within the removal delay.
    package mutating func requestCommit(at boot: Int64) {
        removalDeadline = removalDeadline ?? boot + Self.removalDelay
    }

    package mutating func didRemove() {
        removable = [:]
        removalDeadline = nil
    }

    /// Postpones the removal after a failure.
    package mutating func didFailToRemove(at boot: Int64) {
        if removalDeadline != nil { removalDeadline = boot + Self.removalDelay }
    }

    /// Schedules lost batches for retransmission, and reports that a collector refuses batches, or that none acknowledges them.
    package mutating func tick(at boot: Int64) -> [Report] {
        if boot >= confirmation, !awaitsPuback, !unconfirmed.isEmpty {
            confirm(unconfirmed, at: boot)
            unconfirmed = []
            window.didConfirm()
        }
        var reports: [Report] = []
        var waiting: (since: Int64, device: Int)?
        var hasBacklog = false
        for index in devices.indices where devices[index].needsTick {
            devices[index].delivery.tick(at: boot)
            hasBacklog = hasBacklog || devices[index].delivery.hasBacklog
            if devices[index].refusals.isAny {
                let delivery = devices[index].delivery
                devices[index].refusals.remove { !delivery.contains($0) }
                if let refusal = devices[index].refusals.take(at: boot) { reports.append(refusal.report(of: index)) }
            }
            if !devices[index].refusals.isAny, let since = devices[index].delivery.waitingSince,
                since < waiting?.since ?? .max
            {
                waiting = (since, index)
            }
        }
        // The unreadable batches were dropped, or stored before.
        if !hasBacklog { unreadable = nil }
        guard let (since, device) = waiting, boot - since >= Self.acknowledgementPatience else {
            problems.resolve("unacknowledged")
            return reports
        }
        return reports
            + report(
                .warning, "no collector acknowledges batches, kept in outbox", once: "unacknowledged",
                [
                    "seconds": "\((boot - since) / 1_000_000)",
                    "hint": "check with 'lockstep doctor' that a collector of the group is online and stores",
                ], of: device)
    }

    private mutating func report(
        _ level: Logger.Level, _ message: Logger.Message, once problem: String, _ metadata: Logger.Metadata,
        of device: Int?
    ) -> [Report] {
        problems.isNew(problem) ? [Report(level: level, message: message, metadata: metadata, device: device)] : []
    }
}
