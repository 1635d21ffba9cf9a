import FoundationEssentials
public import LockstepModel
import LockstepWire

extension LiveDevices {
    /// What the messages of a topic are about.
    enum Route: Sendable {
        case state(Int)
        case presence(Int)
        case samples(StreamKey, SensorStream)
        case reply(DeviceAddress)
        case collector(CollectorAddress)
        /// Events of a device, or of a collector's machine.
        case event(DeviceAddress?)
        case acknowledged(DeviceAddress?)
        /// The `group/id` of a gateway.
        case gateway(String)
        case session(RecordingSession.Key)
        /// A device that is not followed, or a channel without information for subscribers.
        case ignored
    }

    /// Handles a message. `payload` only has to be valid during the call.
    /// - Parameters:
    ///   - contentType: the content type of the payload, if the sender has set it.
    ///   - moment: the arrival time.
    /// - Returns: the change, or nil if there is none.
    public mutating func handle(
        topic: String, payload: UnsafeRawBufferPointer, contentType: String? = nil, at moment: Moment
    ) -> LiveChange? {
        guard !payload.isEmpty else { return remove(topic) }
        do {
            switch try routes[topic] ?? addRoute(topic) {
            case .samples(let key, let stream):
                let batch = try BatchEncoding.decode(
                    payload, contentType: contentType, stream: stream, limits: PayloadLimits())
                try checkTime(of: batch, at: moment)
                add(batch, of: key, at: moment)
                return .samples(LiveBatch(address: entries[key.device].address, batch: batch, key: key))
            case .state(let index): return try handle(state: Data(payload), at: index)
            case .presence(let index): return try handle(presence: Data(payload), at: index)
            case .reply(let address): return .reply(address)
            case .collector(let address): return try handle(health: Data(payload), of: address)
            case .event(let address):
                try checkSize(of: payload)
                return .event(try EventJSON.decode(Data(payload), of: address))
            case .acknowledged(let address):
                try checkSize(of: payload)
                return .acknowledged(try EventAcknowledgementJSON.decodeConfirmation(Data(payload), of: address))
            case .gateway(let name):
                let health = try GatewayHealth.decode(Data(payload))
                guard gateways[name] != nil || gateways.count < limits.collectors else {
                    throw LiveLimitError("there are more than \(limits.collectors) gateways")
                }
                gateways[name] = health
                return nil
            case .session(let key):
                let session = try SessionJSON.decode(Data(payload), of: key)
                guard sessions[key] != nil || sessions.count < LiveLimits.sessions else {
                    throw LiveLimitError("there are more than \(LiveLimits.sessions) sessions")
                }
                sessions[key] = session
                return .session(key)
            case .ignored: return nil
            }
        } catch {
            return .unreadable(topic: topic, reason: "\(error)")
        }
    }

    /// Handles the deletion of a retained message. A device without state and presence is forgotten.
    private mutating func remove(_ topic: String) -> LiveChange? {
        switch try? root.parse(topic) {
        case .device(let address, .state):
            guard let index = positions[address], entries[index].transition != nil else { return nil }
            entries[index].transition = nil
            return removeIfEmpty(index)
        case .device(let address, .presence):
            guard let index = positions[address], entries[index].presence != nil else { return nil }
            entries[index].presence = nil
            return removeIfEmpty(index)
        case .collector(let group, let id):
            routes[topic] = nil
            let address = CollectorAddress(group: group, collector: id)
            return collectors.removeValue(forKey: address).map { _ in .collectorForgotten(group, id) }
        case .gateway(let group, let id):
            routes[topic] = nil
            gateways["\(group)/\(id)"] = nil
            return nil
        case .session(let key, nil):
            return sessions.removeValue(forKey: key).map { _ in .session(key) }
        default: return nil
        }
    }

    private mutating func removeIfEmpty(_ index: Int) -> LiveChange? {
        touch(index)
        guard entries[index].transition == nil, entries[index].presence == nil else { return nil }
        entries[index].isForgotten = true
        return .forgotten(entries[index].address)
    }

    /// Refuses a batch that collectors reject because of its time. Otherwise it would be shown as the newest one.
    private func checkTime(of batch: Batch, at moment: Moment) throws(LiveLimitError) {
        guard let last = batch.samples.times.last, last - moment.wall.microseconds > limits.maxFuture else {
            return
        }
        throw LiveLimitError(
            "sample time \(Timestamp(microseconds: last)) is in the future: check the clocks of the device and of this "
                + "machine")
    }

    /// Refuses a message that takes too much memory, because the last events are kept.
    private func checkSize(of payload: UnsafeRawBufferPointer) throws(LiveLimitError) {
        guard payload.count <= LiveLimits.eventBytes else {
            throw LiveLimitError(
                "the message has \(payload.count) bytes: an event has at most \(LiveLimits.eventBytes)")
        }
    }

    private mutating func handle(state payload: Data, at index: Int) throws(PayloadError) -> LiveChange? {
        let transition = try StateJSON.decode(payload)
        guard transition != entries[index].transition else { return nil }
        entries[index].transition = transition
        entries[index].isForgotten = false
        touch(index)
        return .state(entries[index].address, transition)
    }

    private mutating func handle(presence payload: Data, at index: Int) throws(PayloadError) -> LiveChange? {
        let presence = try PresenceJSON.decode(payload)
        let before = entries[index].presence
        // Ignore the last will of an earlier session, which the broker may publish late.
        if let last = before?.session, let session = presence.session, session < last { return nil }
        entries[index].presence = presence
        // A message about the dropped batches of an earlier epoch has no report of the clock.
        if presence.clock != nil || presence.session != before?.session || presence.phase == .lost {
            entries[index].clock = presence.clock
        }
        entries[index].isForgotten = false
        let isNews =
            before?.phase != presence.phase || before?.session != presence.session
            || before?.sources != presence.sources || before?.droppedSamples != presence.droppedSamples
            || before?.calibration != presence.calibration
        if isNews || before?.dropped != presence.dropped { touch(index) }
        return .presence(entries[index].address, presence, isNews: isNews)
    }

    private mutating func handle(
        health payload: Data, of address: CollectorAddress
    ) throws -> LiveChange? {
        var health = try CollectorHealth.decode(payload)
        guard collectors[address] != nil || collectors.count < limits.collectors else {
            throw LiveLimitError("there are more than \(limits.collectors) collectors")
        }
        let before = collectors[address]
        // A last will does not have what is known of the rules, which the events of the collector still need.
        if health.started == nil, let before {
            health.rules = before.rules
            health.places = before.places
        }
        collectors[address] = health
        let isNews = before?.status != health.status || before?.problem != health.problem
        return .collector(address.group, address.collector, health, isNews: isNews)
    }

    /// Returns the route of a topic that was not seen before.
    private mutating func addRoute(_ topic: String) throws -> Route {
        let route: Route
        switch try root.parse(topic) {
        // The routes of collectors and gateways without a readable report are not kept, because a client could invent them.
        case .collector(let group, let id):
            let address = CollectorAddress(group: group, collector: id)
            route = .collector(address)
            guard collectors[address] != nil else { return route }
        case .collectorEvent(_, _, .event): return .event(nil)
        case .collectorEvent(_, _, .eventAcknowledged): return .acknowledged(nil)
        case .collectorEvent, .session(_, _?): return .ignored
        case .session(let key, nil): return .session(key)
        case .gateway(let group, let id):
            let name = "\(group)/\(id)"
            route = .gateway(name)
            guard gateways[name] != nil else { return route }
        case .device(let address, let channel):
            guard options.selects(address) else { return .ignored }
            route = try self.route(of: channel, address)
            // The route of an unknown device is not kept, so that it costs no memory.
            guard positions[address] != nil else { return route }
        }
        routes[topic] = route
        return route
    }

    private mutating func route(of channel: Channel, _ address: DeviceAddress) throws -> Route {
        if options.addsAddressedDevices { _ = try index(of: address) }
        switch channel {
        case .state: return .state(try index(of: address))
        case .presence: return .presence(try index(of: address))
        case .stream(let stream):
            let device = try index(of: address)
            return .samples(StreamKey(device: device, stream: entries[device].index(of: stream)), stream)
        case .commandReply: return .reply(address)
        case .event: return .event(address)
        case .eventAcknowledged: return .acknowledged(address)
        case .ack, .command, .eventAcknowledge, .forget, .forgotten, .delete, .clockPing, .clockPong: return .ignored
        }
    }

    /// Returns the position of a device, which is added if it is new.
    /// - Throws: ``LiveLimitError`` if there are too many devices.
    mutating func index(of address: DeviceAddress) throws(LiveLimitError) -> Int {
        if let known = positions[address] { return known }
        guard entries.count < limits.devices else {
            throw LiveLimitError("there are more than \(limits.devices) devices")
        }
        entries.append(LiveDevice(address))
        positions[address] = entries.count - 1
        touch(entries.count - 1)
        return entries.count - 1
    }

    /// Records a change of a device.
    mutating func touch(_ index: Int) {
        revision += 1
        entries[index].revision = revision
    }
}

/// The error for a message that exceeds a limit.
struct LiveLimitError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
