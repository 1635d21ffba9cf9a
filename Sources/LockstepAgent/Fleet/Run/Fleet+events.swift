import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepWire

extension Fleet {
    /// The time from a subscription to the first backlog, in µs, as in an agent.
    private static let backlogDelay: Int64 = 500_000
    /// The topic on which mosquitto reports its memory, in bytes.
    private static let brokerMemoryTopic = "$SYS/broker/heap/current"

    /// Handles an event of the link with this number.
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

    /// Handles a message for the observer.
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
