import LockstepAgent
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

/// Batches.
extension GatewayLoop {
    func publishLive(_ entry: GatewayOutbox.Entry, at boot: Int64) {
        let index = entry.device
        subscribe(index)
        guard link.isUp, inFlight.count < Self.maxInFlight,
            deliveries[index].delivery.inFlightCount < Delivery.maxInFlight
        else { return deliveries[index].delivery.enqueue(entry.position) }
        let payload = entry.isLate ? BatchEncoding.markingLate(entry.payload) : entry.payload
        switch publish(entry, payload) {
        case .published(let id):
            deliveries[index].delivery.didPublish(entry.position, as: id, at: boot)
            linkWindow.didPublish(id, bytes: payload.count, isBacklog: false, at: boot)
        case .tooLarge: deliveries[index].delivery.markTooLarge(entry.position)
        case .notPublished: deliveries[index].delivery.enqueue(entry.position)
        }
    }

    private enum Outcome {
        case published(id: Int32)
        case tooLarge
        case notPublished
    }

    private func publish(_ entry: GatewayOutbox.Entry, _ payload: [UInt8]) -> Outcome {
        do {
            let message = MQTTMessage(
                topic: configuration.root.topic(deliveries[entry.device].address, .stream(entry.stream)),
                payload: payload, contentType: BatchEncoding(of: payload).contentType)
            guard let id = try link.publish(message) else { return .notPublished }
            inFlight[id] = entry.device
            return .published(id: id)
        } catch {
            logger.error(
                "cannot publish batch",
                metadata: ["device": "\(deliveries[entry.device].address)", "error": "\(error)"])
            return error.code == .tooLarge ? .tooLarge : .notPublished
        }
    }

    /// Publishes the backlog of all devices, schedules lost batches again, and publishes pending presences.
    func check() {
        let moment = Moment.now()
        guard link.isUp, moment.boot >= nextCheck else { return }
        nextCheck = moment.boot + Self.checkInterval
        for index in deliveries.indices where deliveries[index].isActive {
            deliveries[index].delivery.tick(at: moment.boot)
        }
        if moment.boot >= backlogStart { publishBacklog(at: moment.boot) }
        publishPresences(at: moment.wall)
    }

    /// Publishes the backlog of all devices, beginning with the next one after the last check: the link may not have room
    /// for all.
    private func publishBacklog(at boot: Int64) {
        let first = nextBacklogDevice
        for offset in deliveries.indices {
            let index = (first + offset) % deliveries.count
            guard deliveries[index].delivery.hasBacklog else { continue }
            guard linkWindow.isOpen else { return }
            nextBacklogDevice = index + 1
            publishBacklog(of: index, at: boot)
        }
    }

    private func publishBacklog(of index: Int, at boot: Int64) {
        while linkWindow.isOpen, inFlight.count < Self.maxInFlight, deliveries[index].delivery.canSendBacklog,
            deliveries[index].budget.isOpen(at: boot), let position = deliveries[index].delivery.nextBacklogBatch
        {
            subscribe(index)
            let entry: GatewayOutbox.Entry?
            do { entry = try outbox.entry(at: position, of: index) } catch {
                logger.error("cannot read outbox", metadata: ["error": "\(error)"])
                return
            }
            guard let entry else {
                deliveries[index].delivery.forget(
                    [position.epoch: SequenceSet(CollectionOfOne(position.seq...position.seq))])
                continue
            }
            let payload = BatchEncoding.markingLate(entry.payload)
            switch publish(entry, payload) {
            case .published(let id):
                deliveries[index].delivery.didPublishBacklog(position, as: id, at: boot)
                linkWindow.didPublish(id, bytes: payload.count, isBacklog: true, at: boot)
                deliveries[index].budget.spend(payload.count)
            case .tooLarge: deliveries[index].delivery.markTooLarge(position)
            case .notPublished: return
            }
        }
    }

    func didDrop(_ dropped: GatewayOutbox.Dropped) {
        guard dropped.samples > 0 else { return }
        for (index, batches) in dropped.batches {
            deliveries[index].delivery.forget(batches)
            deliveries[index].needsPresence = true
        }
        logger.warning("samples dropped", metadata: ["samples": "\(dropped.samples)", "reason": "outbox-size"])
    }
}
