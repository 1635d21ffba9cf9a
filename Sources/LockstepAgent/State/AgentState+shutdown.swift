import LockstepModel
import LockstepSensors
import Logging

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
            if isConnected, delivery.inFlightCount > 0, boot < deadline - Self.terminationReserve { return actions }
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
