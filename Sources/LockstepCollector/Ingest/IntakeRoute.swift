import LockstepModel
import LockstepWire

/// The destination of a topic's messages.
struct IntakeRoute {
    enum Destination {
        case samples, presence, acknowledgement, forget, delete, state, ignored, outside, reply
        case session(RecordingSession.Key, SessionRequest.Verb)
    }

    let destination: Destination
    let address: DeviceAddress?
    let stream: SensorStream?
    var streamNumber: Int?
    var reader: CanonicalBatchReader?
    /// The index of the device, or nil until it is admitted.
    var device: Int?
    /// The index of this topic's run, valid in the group with the number `group`.
    var run = 0
    /// The number of the last group with a run of this topic.
    var group = 0
    /// The number of batches in that run. The next run reserves the same capacity.
    var batches = 0
    /// The number of samples in that run.
    var samples = 0

    init(_ destination: Destination, _ address: DeviceAddress? = nil, stream: SensorStream? = nil) {
        self.destination = destination
        self.address = address
        self.stream = stream
    }

    /// - Parameter collector: the collector whose acknowledgements of events are stored, or nil for those of all collectors.
    init(_ topic: Topic, in scope: CollectorScope, of collector: CollectorID?) {
        switch topic {
        // Another collector stores the devices of other partitions. Only requests to forget one are answered.
        case .device(let address, let channel) where channel != .forget && !scope.contains(address): self.init(.ignored)
        case .device(let address, .stream(let stream)): self.init(.samples, address, stream: stream)
        case .device(let address, .presence): self.init(.presence, address)
        case .device(let address, .eventAcknowledge): self.init(.acknowledgement, address)
        case .collectorEvent(_, let id, .eventAcknowledge) where id == collector ?? id: self.init(.acknowledgement)
        case .device(let address, .forget): self.init(.forget, address)
        case .device(let address, .delete): self.init(.delete, address)
        case .device(let address, .state): self.init(.state, address)
        case .device(let address, .commandReply): self.init(.reply, address)
        // A session belongs to the collector of the whole group.
        case .session(let key, let verb?) where scope.containsGroup(key.group): self.init(.session(key, verb))
        // Messages of collectors and gateways and commands to agents are not stored.
        case .device(_, .ack), .device(_, .command), .session,
            .device(_, .event), .device(_, .eventAcknowledged), .device(_, .forgotten), .device(_, .clockPing),
            .device(_, .clockPong),
            .collector, .collectorEvent, .gateway:
            self.init(.ignored)
        }
    }
}
