import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import Logging

extension AgentState {
    /// The input of the agent's state.
    enum Event {
        /// The loop starts.
        case started
        /// A turn of the loop begins.
        case turnBegan
        /// A source, a signal or the program has posted an item to the inbox.
        case item(Inbox.Item)
        /// The state of the connection or of a message has changed.
        /// - Parameters:
        ///   - packetLimit: the largest packet that the broker accepts, in bytes; nil if unknown.
        ///   - maxInFlight: the number of messages with QoS 1 that the broker allows in flight; nil if it sets no limit.
        case link(BrokerLink.Event, packetLimit: Int?, maxInFlight: Int? = nil)
        /// A message on the `command` topic.
        case request(Data, isRetained: Bool)
        /// A collector's acknowledgement.
        /// - Parameter isNewerThanOutbox: whether it lists batches that this outbox never published.
        case acknowledgement(Acknowledgement, isNewerThanOutbox: Bool)
        /// A message on the `ack` topic that is not a valid acknowledgement.
        case unreadableAcknowledgement(any Error)
        /// A stage of the turn begins.
        case stage(Stage)
        /// The loop ends. The items are the rest of the inbox.
        case shutdownBegan([Inbox.Item])

        // Results of actions.

        /// The outbox has written batches, or a part of them.
        /// - Parameter droppedSamples: the number of samples that the outbox has dropped since it was created.
        case written(Outbox.Accepted, droppedSamples: Int64)
        /// The outbox has written none of the blocks.
        case writeFailed([SampleBlock], any Error)
        /// The calibration of a request was stored, or removed if it is nil.
        /// - Parameter error: why the outbox could not be written; nil if it was.
        case calibrationStored(AgentRequest, SensorCalibration?, error: OutboxError?)
        /// The blocks of a `flush` request were passed to the outbox.
        /// - Parameter batches: the number of the blocks.
        case flushed(AgentRequest, batches: Int)
        /// The result of publishing a live batch.
        case live(BatchPosition, OutboxDelivery.Outcome)
        /// The result of publishing a batch of the backlog.
        case backlog(BatchPosition, OutboxDelivery.Outcome)
        /// The outbox could not record that backlog is about to be published.
        case backlogNotRecorded(any Error)
        /// The presence was published as message `id`.
        case presencePublished(id: Int32)
        /// The outbox has started a new epoch after a step of the clock.
        case epochStarted(Epoch)
        /// The outbox could not start a new epoch after a step of the clock.
        case epochFailed(any Error)
        /// The outbox was compared again with the acknowledgement that contradicts it.
        case outboxCompared(Acknowledgement, isOlder: Bool)
        /// The outbox, which was restored from an older copy, has started a new epoch.
        /// - Parameter pending: the numbers of all batches in the outbox.
        case epochReplaced(Epoch, pending: [Epoch: SequenceSet])
        /// The restored outbox could not start a new epoch.
        case epochReplacementFailed(any Error)
    }

    /// The stages of a turn, in order. The loop reads the link before the first one.
    enum Stage {
        /// Start a new epoch if an acknowledgement has shown that the outbox is an older copy.
        case restoredOutbox
        /// Retry a refused subscription.
        case subscription
        /// Answer requests, up to the limit of a turn.
        case requests
        /// Answer one more request. Sent only by ``Action/resume(_:)``.
        case nextRequest
        /// Write the batches of a finished window.
        case window
        /// Schedule lost batches for retransmission.
        case retransmission
        case backlog
        /// Publish the presence if it is due.
        case presence
        /// Stop when all sources have ended and everything is delivered. The loop writes to the link before this stage.
        case completion
        /// Continue the shutdown. Only after the last turn.
        case shutdown

        static let beforeWrite: [Stage] = [
            .restoredOutbox, .subscription, .requests, .window, .retransmission, .backlog, .presence,
        ]
    }

    /// The output of the agent's state, carried out by the loop in order.
    enum Action {
        case log(Logger.Level, Logger.Message, Logger.Metadata = [:])
        /// Set the sampling rates of all sources, in samples a second.
        case setSourceRates([SensorStream: Double])
        /// Write blocks to the outbox and remove acknowledged batches. Results in `written` or `writeFailed`.
        case write([SampleBlock], removing: [Epoch: SequenceSet])
        /// Publish a batch that was just written. Results in `live`.
        case publishLive(Outbox.Entry)
        /// Read and publish batches of the backlog as long as the delivery has a next one. Each results in `backlog`.
        case publishBacklog
        /// Publish the presence. Results in `presencePublished` if there is a connection.
        case publishPresence(Presence)
        case subscribe
        case reply(AgentReply)
        /// Complete the description with the state of the outbox, and reply. Until then, its `droppedSamples` counts
        /// only samples that never reached the outbox.
        case describe(id: String?, AgentDescription)
        /// Store a calibration, or remove it if it is nil. Results in `calibrationStored`.
        case storeCalibration(SensorCalibration?, AgentRequest)
        /// Start a new epoch after a step of the clock. Results in `epochStarted` or `epochFailed`.
        case startEpoch
        /// Compare the outbox with the acknowledgement again. Results in `outboxCompared`.
        case compareOutbox(Acknowledgement)
        /// Replace the epoch of a restored outbox. Results in `epochReplaced` or `epochReplacementFailed`.
        case replaceEpoch(after: Acknowledgement)
        /// Record in the outbox that no backlog is being published.
        case stopBacklog
        /// Disconnect, and connect with a new session and last will.
        case reconnect
        /// Pass the event to the state after the preceding actions.
        indirect case resume(Event)
        /// Remove acknowledged batches from the outbox and disconnect before the deadline, in µs of the boot clock.
        case close(removing: [Epoch: SequenceSet], deadline: Int64)
    }
}

/// The shutdown: pending samples are written and published, then the phase `terminated`, within five seconds.
extension AgentState {
    /// The maximum duration of the shutdown, in µs.
    static let shutdownLimit: Int64 = 5_000_000
    /// The maximum wait for acknowledgements, in µs. A running collector acknowledges within about a second.
    static let acknowledgementLimit: Int64 = 1_500_000
    /// The time that is reserved for publishing the phase `terminated`, in µs.
    static let terminationReserve: Int64 = 1_000_000
    /// The maximum interval between two steps of the shutdown, in µs.
    static let shutdownInterval: Int64 = 100_000

    /// The steps of the shutdown. Deadlines are in µs of the boot clock.
    enum Shutdown: Hashable {
        case running
        /// The last samples are being written.
        case writing(deadline: Int64)
        /// Waits until the collector has acknowledged everything.
        case awaitingAcknowledgements(until: Int64, deadline: Int64)
        /// Waits until the broker has acknowledged all batches in flight.
        case awaitingBroker(deadline: Int64)
        /// Waits until the broker has acknowledged the phase `terminated`.
        case awaitingTermination(deadline: Int64)
        case finished
    }

    /// Writes the samples that sources handed over before the stop, because they must not be lost.
    mutating func beginShutdown(_ items: [Inbox.Item], at moment: Moment) -> [Action] {
        shutdown = .writing(deadline: moment.boot + Self.shutdownLimit)
        var actions: [Action] = []
        for case .samples(let block, let clock) in items { actions += add(block, clock: clock, at: moment) }
        finishGraph(at: moment.boot)
        return actions + write(coalescer.takeAll(), at: moment, isForced: true)
    }

    /// Continues until a step has to wait.
    mutating func continueShutdown(at moment: Moment) -> [Action] {
        let boot = moment.boot
        var actions: [Action] = []
        if case .writing(let deadline) = shutdown {
            if !unsaved.isEmpty {
                presence.unsavedDropped += Int64(unsavedCount)
                actions.append(
                    .log(.error, "samples lost, outbox cannot be written", ["samples": "\(unsavedCount)"]))
            }
            shutdown = .awaitingAcknowledgements(until: boot + Self.acknowledgementLimit, deadline: deadline)
        }
        if case .awaitingAcknowledgements(let until, let deadline) = shutdown {
            if isConnected, !delivery.isEmpty, boot < until { return actions }
            shutdown = .awaitingBroker(deadline: deadline)
        }
        if case .awaitingBroker(let deadline) = shutdown {
            if isConnected, delivery.awaitsPuback, !delivery.isEmpty, boot < deadline - Self.terminationReserve {
                return actions
            }
            if !delivery.isEmpty {
                actions.append(.log(.info, "unacknowledged batches kept in outbox"))
            }
            takeover.didStop()
            actions += reviewDelivery(at: boot)
            presence.setPhase(.terminated, reason: sourceError == nil ? "stop" : "source-failed")
            shutdown = .awaitingTermination(deadline: deadline)
            // The next step depends on whether the presence could be published.
            return actions + [
                .publishPresence(presence.report(at: timeLine.timestamp(boot: boot))), .resume(.stage(.shutdown)),
            ]
        }
        if case .awaitingTermination(let deadline) = shutdown {
            if isConnected, !presence.isAcknowledged, boot < deadline { return [] }
            shutdown = .finished
            return [.close(removing: delivery.removable[0] ?? [:], deadline: deadline), .log(.info, "agent stopped")]
        }
        return actions
    }

    /// Returns the time of the next step of the shutdown in µs of the boot clock, or nil if it has finished.
    func nextShutdownStep(at boot: Int64) -> Int64? {
        switch shutdown {
        case .running, .finished: nil
        case .writing: boot
        case .awaitingAcknowledgements(let until, _): min(until, boot + Self.shutdownInterval)
        case .awaitingBroker(let deadline):
            min(deadline - Self.terminationReserve, boot + Self.shutdownInterval)
        case .awaitingTermination(let deadline): min(deadline, boot + Self.shutdownInterval)
        }
    }
}

/// Clocks and epochs.
extension AgentState {
    mutating func beginTurn(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        if case .stepped(let step) = timeLine.observe(moment) { actions += clockStepped(by: step, at: moment) }
        actions += startRequiredEpoch(at: moment.boot)
        if let began = suspend.observe(moment), presence.phase == .foreground {
            // Report both phases with their own times: the suspend is known only after the wake.
            presence.setPhase(.background, reason: "suspend")
            actions.append(.publishPresence(presence.report(at: timeLine.timestamp(boot: began))))
            presence.setPhase(.foreground, reason: "wake")
            actions.append(.publishPresence(presence.report(at: timeLine.timestamp(boot: moment.boot))))
        }
        if leases.expire(at: moment.boot) { actions += updateRates(at: moment) }
        return actions
    }

    /// Ends the epoch: timestamps after the step may be lower than those before it.
    private mutating func clockStepped(by step: Int64, at moment: Moment) -> [Action] {
        finishGraph(at: moment.boot)
        var actions = write(coalescer.takeAll(), at: moment)
        actions.append(.log(.warning, "clock stepped, starting new epoch", ["step_seconds": "\(Double(step) / 1e6)"]))
        stamper.startEpoch()
        needsEpoch = true
        return actions
    }

    /// Starts the epoch that a clock step requires. Retries until it is written, because an epoch must not span a clock
    /// step.
    private mutating func startRequiredEpoch(at boot: Int64) -> [Action] {
        needsEpoch && problems.isRetryDue("epoch", at: boot) ? [.startEpoch] : []
    }

    mutating func didStartEpoch(_ epoch: Epoch) -> [Action] {
        needsEpoch = false
        problems.resolve("epoch")
        return [.log(.info, "epoch started", ["epoch": "\(epoch)"])] + reconnect()
    }

    mutating func didFailToStartEpoch(_ error: any Error) -> [Action] {
        problems.isNew("epoch") ? [.log(.error, "cannot start new epoch, retrying", ["error": "\(error)"])] : []
    }

    /// Replaces the epoch if the outbox is still older than the acknowledgement.
    mutating func didCompareOutbox(_ ack: Acknowledgement, isOlder: Bool, at boot: Int64) -> [Action] {
        guard isOlder else {
            contradictingAck = nil
            return []
        }
        return problems.isRetryDue("restored", at: boot) ? [.replaceEpoch(after: ack)] : []
    }

    mutating func didReplaceEpoch(_ epoch: Epoch, pending: [Epoch: SequenceSet]) -> [Action] {
        delivery.replace(0, pending: pending)
        contradictingAck = nil
        problems.resolve("restored")
        return [
            .log(.warning, "outbox was restored from an older copy, sending its samples again", ["epoch": "\(epoch)"])
        ] + reconnect()
    }

    mutating func didFailToReplaceEpoch(_ error: any Error) -> [Action] {
        guard problems.isNew("restored") else { return [] }
        return [.log(.error, "cannot start new epoch after a restore, retrying", ["error": "\(error)"])]
    }

    /// Reconnects, because the session and the last will at the broker belong to the old epoch.
    private mutating func reconnect() -> [Action] {
        delivery.didDisconnect()
        return [.reconnect]
    }
}
