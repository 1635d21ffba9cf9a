import LockstepAgent
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

/// Batches: carries out what ``/LockstepAgent/OutboxDelivery`` decides.
extension GatewayLoop {
    func publishLive(_ entry: Outbox.Entry, at boot: Int64) {
        subscribe(entry.device, at: boot)
        let outcome =
            delivery.canPublishLive(of: entry.device) ? publish(entry, isBacklog: false, at: boot) : .notPublished
        log(delivery.didPublish(entry.position, of: entry.device, isBacklog: false, outcome, at: boot))
    }

    private func publish(_ entry: Outbox.Entry, isBacklog: Bool, at boot: Int64) -> OutboxDelivery.Outcome {
        do {
            let qos = delivery.quality(of: entry.position, of: entry.device, isBacklog: isBacklog, at: boot)
            let payload = entry.payload(isBacklog: isBacklog)
            let message = MQTTMessage(
                topic: configuration.root.topic(outbox.devices[entry.device].address, .stream(entry.stream)),
                payload: payload, qos: qos, contentType: BatchEncoding(of: payload).contentType)
            guard let id = try link.publish(message) else { return .notPublished }
            return .published(id: id, bytes: payload.count, qos: qos)
        } catch {
            return error.code == .tooLarge ? .tooLarge : .failed(error)
        }
    }

    /// Publishes the backlog of all devices, schedules lost batches again, and publishes pending presences.
    func check() {
        let moment = Moment.now()
        guard link.isUp, moment.boot >= nextCheck else { return }
        nextCheck = moment.boot + Self.checkInterval
        retrySubscriptions(at: moment.boot)
        log(delivery.tick(at: moment.boot))
        for index in devices.indices {
            if delivery.needsSubscription(index), delivery.isActive(index) { subscribe(index, at: moment.boot) }
            let problem = delivery.problem(of: index, at: moment.boot)
            guard devices[index].problem != problem else { continue }
            devices[index].problem = problem
            devices[index].needsPresence = true
        }
        delivery.beginBacklog()
        while let (device, position) = delivery.nextBacklogBatch(at: moment.boot) {
            let outcome: OutboxDelivery.Outcome
            do {
                let entry = try outbox.batches.entry(at: position, of: device)
                outcome = entry.map { publish($0, isBacklog: true, at: moment.boot) } ?? .missing
            } catch {
                outcome = .failed(error)
            }
            log(delivery.didPublish(position, of: device, isBacklog: true, outcome, at: moment.boot))
            guard outcome.allowsMore else { break }
        }
        publishPresences(at: moment.wall)
    }

    /// Subscribes to the acknowledgements of a device, once for each connection.
    func subscribe(_ index: Int, at boot: Int64) {
        guard delivery.needsSubscription(index) else { return }
        do {
            try subscribe(to: devices[index].ackTopic)
            delivery.didSubscribe(index, at: boot)
        } catch {
            logger.error("cannot subscribe", metadata: ["error": "\(error)"])
        }
    }

    func log(_ reports: [OutboxDelivery.Report]) {
        for report in reports {
            let device = report.device.map { ["device": "\(outbox.devices[$0].address)"] as Logger.Metadata } ?? [:]
            logger.log(
                level: report.level, report.message, metadata: device.merging(report.metadata) { first, _ in first })
        }
    }

    func didDrop(_ accepted: Outbox.Accepted) {
        let dropped = accepted.dropped
        guard dropped.samples > 0 else { return }
        for (index, batches) in dropped.batches {
            delivery.forget(batches, of: index)
            devices[index].needsPresence = true
        }
        let total = outbox.devices.indices.reduce(0) { $0 + outbox.devices[$1].droppedSamples }
        logger.warning(
            "samples dropped",
            metadata: ["samples": "\(dropped.samples)", "reason": "outbox-size", "total": "\(total)"])
    }
}
