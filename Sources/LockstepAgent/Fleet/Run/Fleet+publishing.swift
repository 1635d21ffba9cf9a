import LockstepMQTT
import LockstepModel
import LockstepWire

extension Fleet {
    /// Returns the index of the connection that a device uses.
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

    /// Publishes a batch.
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

    /// Returns the presence message of a device.
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
