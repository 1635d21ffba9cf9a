import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

/// Converts incoming messages into an ``IngestGroup`` for the store: validates, decodes, and updates the life cycles.
///
/// Every message passes through it, so it must not allocate memory per message.
struct Intake {
    /// The maximum time by which a sample may be ahead of the collector's clock, in µs.
    let maximumFuture: Int64
    /// Which topics and devices are stored.
    let scope: CollectorScope
    /// One reader per stream, shared by all topics of the stream.
    private let readers: [SensorStream: CanonicalBatchReader]
    let limits: PayloadLimits

    /// The maximum number of devices.
    let maximumDevices: Int
    /// The collector whose clock estimates are stored, or nil for those of all collectors.
    var collector: CollectorID?
    var topics = TopicTable<Route>()
    var devices: [KnownDevice] = []
    /// The index of each device in `devices`.
    private var deviceIndices: [DeviceAddress: Int] = [:]
    /// The number of dropped samples that each agent last reported.
    var droppedSamples: [DeviceAddress: Int64] = [:]
    /// The messages since the last group was taken.
    var group = IngestGroup()
    /// The number of the current group, from 1.
    var groupNumber = 1
    /// The number of samples in the current group.
    var pendingSamples = 0
    /// Empty runs of earlier groups, to reuse their memory, by the number of the stream.
    var freeRuns: [[SampleRun]]
    /// The number of each stream.
    private let streamNumbers: [SensorStream: Int]
    /// The devices whose newest live samples have not been reported to the life cycle yet, as indices into `devices`.
    var pendingDevices: [Int] = []

    /// What to do about forgotten devices. The collector takes it.
    var forgetting = Forgetting()
    /// The devices with a wrong clock. The collector logs them.
    var clockDifferences = ClockDifferences()
    /// What each device may leave in memory and in the store.
    var deviceLimits = DeviceLimits()
    /// The batch numbers of epochs that have too many ranges.
    var fragmented: [DeviceEpoch: SequenceSet] = [:]
    /// What was used up of the rejections of each device, by the first levels of the topic.
    var rejections: [String: Allowance] = [:]
    /// The number of messages that were rejected and not stored.
    var unstoredRejections = 0
    /// The batches that were rejected for now. The collector reports them to their agents.
    var refusedBatches = RefusedBatches()
    /// What shows that the session has subscriptions of earlier settings. The collector ends them.
    var earlierSubscriptions = EarlierSubscriptions()

    /// The destination of a topic's messages.
    struct Route {
        enum Destination { case samples, presence, acknowledgement, forget, state, ignored, outside }

        let destination: Destination
        let address: DeviceAddress?
        let stream: SensorStream?
        /// The number of the stream.
        let streamNumber: Int?
        let reader: CanonicalBatchReader?
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
    }

    /// A device in the store or in the current group.
    struct KnownDevice {
        let address: DeviceAddress
        /// The number of the device in the life-cycle registry, or nil before its first event.
        var number: Int?
        /// The number of the group in which further live samples cannot change the device's state. In that group it is
        /// enough to report the newest samples once, at the end.
        var settledInGroup = 0
        /// The time of the newest live sample in that group.
        var newest = Timestamp(microseconds: 0)
        /// Whether `newest` has not been reported to the life cycle yet.
        var isPending = false
        /// What the device has used up of its limits.
        var usage = DeviceUsage()
    }

    /// - Parameter devices: the devices in the store.
    init(
        scope: CollectorScope, limits: PayloadLimits, maximumFuture: Int64, maximumDevices: Int,
        devices: some Sequence<DeviceAddress>
    ) {
        self.scope = scope
        readers = Dictionary(
            uniqueKeysWithValues: scope.root.streams.streams.map { ($0, CanonicalBatchReader($0)) })
        streamNumbers = Dictionary(
            uniqueKeysWithValues: scope.root.streams.streams.enumerated().map { ($0.element, $0.offset) })
        freeRuns = Array(repeating: [], count: streamNumbers.count)
        self.limits = limits
        self.maximumFuture = maximumFuture
        self.maximumDevices = maximumDevices
        for address in devices { add(address) }
    }

    /// The number of samples that agents reported as dropped, summed over all devices since the start.
    var dropped: Int64 {
        droppedSamples.values.reduce(0) { sum, count in
            let (total, overflow) = sum.addingReportingOverflow(count)
            return overflow ? .max : total
        }
    }

    /// Returns the current group and starts a new one.
    mutating func takeGroup(_ registry: inout LifecycleRegistry, at moment: Moment) -> IngestGroup {
        reportNewest(&registry, at: moment)
        defer { discardGroup() }
        return group
    }

    /// Discards the current group and starts a new one.
    mutating func discardGroup() {
        for device in pendingDevices { devices[device].isPending = false }
        pendingDevices.removeAll(keepingCapacity: true)
        let (runs, evidence) = (group.runs.count, group.evidence.count)
        group = IngestGroup()
        // The next group is probably as large. Growing the arrays would copy them several times.
        group.runs.reserveCapacity(runs)
        group.evidence.reserveCapacity(evidence)
        groupNumber += 1
        pendingSamples = 0
    }

    /// Advances the time of all life cycles.
    mutating func tick(_ registry: inout LifecycleRegistry, at moment: Moment) {
        reportNewest(&registry, at: moment)
        registry.tick(at: moment, into: &group)
    }

    /// Adds a message to the current group. A message that cannot be accepted is added as rejected, with the reason.
    mutating func ingest(_ message: IncomingMessage, _ registry: inout LifecycleRegistry, at moment: Moment) {
        do {
            let route = try route(of: message)
            switch topics[route].destination {
            case .samples: try ingestBatch(message, route: route, &registry, at: moment)
            case .presence: try ingestPresence(message, route: route, &registry, at: moment)
            case .acknowledgement: try ingestAcknowledgement(message, route: route, at: moment)
            case .forget: try ingestForget(message, route: route, &registry, at: moment)
            case .state: ingestDeletedState(message, route: route, registry)
            case .ignored: break
            case .outside: earlierSubscriptions.receivedOutside(message.topic, of: scope)
            }
        } catch {
            if let error = error as? TopicError { refuse(message, error) }
            reject(message, reason: "\(error)", at: moment)
        }
    }

    /// Whether no more devices may be added, because forgotten ones take memory, too.
    private var isFull: Bool { devices.count / 2 >= maximumDevices }

    /// Adds the topic's device if it is new. The number of devices is limited because a client could invent device ids.
    /// Forgotten devices do not count, until they send again, but limit the number of new ones.
    /// - Returns: false if the limit is reached.
    mutating func admitDevice(of route: Int, _ registry: borrowing LifecycleRegistry) -> Bool {
        let hasPlace = hasPlace(registry)
        // Without a place, it matters whether a known device is forgotten. The look-up takes time.
        if topics[route].device != nil, hasPlace || registry.forgottenCount == 0 { return true }
        guard let address = topics[route].address, hasPlace || !registry.isForgotten(address) else { return false }
        if deviceIndices[address] == nil {
            guard hasPlace, !isFull else { return false }
            add(address)
        }
        topics[route].device = deviceIndices[address]
        return true
    }

    /// Returns whether one more device may be known.
    func hasPlace(_ registry: borrowing LifecycleRegistry) -> Bool {
        devices.count - registry.forgottenCount < maximumDevices
    }

    /// Returns the index of a device in `devices`, or nil if it is unknown.
    func index(of address: DeviceAddress) -> Int? { deviceIndices[address] }

    private mutating func add(_ address: DeviceAddress) {
        deviceIndices[address] = devices.count
        devices.append(KnownDevice(address: address))
    }

    func checkSize(of message: IncomingMessage) throws(PayloadError) {
        guard message.payload.count <= limits.bytes else {
            throw PayloadError("the payload has \(message.payload.count) bytes: the limit is \(limits.bytes)")
        }
    }

    /// The error for a new device beyond the limit. The agent keeps the batch, because the limit may be raised.
    func tooManyDevices(position: BatchPosition?) -> PayloadError {
        let limit = isFull ? "the limit of \(2 * maximumDevices) with forgotten ones" : "the limit of \(maximumDevices)"
        return PayloadError(
            "too many devices: \(limit) is reached; raise the collector's --max-devices to accept more",
            position: position, isRetryable: true)
    }

    private mutating func reject(_ message: IncomingMessage, reason: String, at moment: Moment) {
        guard storesRejection(of: message.topicBytes, at: moment) else {
            unstoredRejections += 1
            return
        }
        group.rejected.append(
            RejectedMessage(
                // The limit is in bytes, because the reason may quote the payload and one character can be very long.
                at: moment.wall, topic: String(decoding: message.topicBytes.prefix(256), as: UTF8.self),
                reason: String(decoding: reason.utf8.prefix(1000), as: UTF8.self),
                size: message.payload.count,
                head: Array(message.payload.prefix(256))))
    }

    /// Returns the index of the route of a message's topic. Parses the topic if it is new.
    private mutating func route(of message: IncomingMessage) throws -> Int {
        if let known = topics.index(of: message.topicBytes) { return known }
        let route = try newRoute(message.topic)
        // The table is limited because a client could invent topics.
        if topics.count >= 200_000 { topics = TopicTable() }
        return topics.add(message.topicBytes, route)
    }

    private mutating func newRoute(_ topic: String) throws -> Route {
        guard scope.covers(topic) else {
            return Route(destination: .outside, address: nil, stream: nil, streamNumber: nil, reader: nil)
        }
        earlierSubscriptions.receivedTopic(topic, in: scope)
        return
            switch try scope.root.parse(topic)
        {
        // Another collector stores the devices of other partitions. Only requests to forget one are answered.
        case .device(let address, let channel) where channel != .forget && !scope.contains(address):
            Route(destination: .ignored, address: nil, stream: nil, streamNumber: nil, reader: nil)
        case .device(let address, .stream(let stream)):
            Route(
                destination: .samples, address: address, stream: stream, streamNumber: streamNumbers[stream],
                reader: readers[stream])
        case .device(let address, .presence):
            Route(destination: .presence, address: address, stream: nil, streamNumber: nil, reader: nil)
        case .device(let address, .eventAcknowledge):
            Route(destination: .acknowledgement, address: address, stream: nil, streamNumber: nil, reader: nil)
        case .collectorEvent(_, let id, .eventAcknowledge) where id == collector ?? id:
            Route(destination: .acknowledgement, address: nil, stream: nil, streamNumber: nil, reader: nil)
        case .device(let address, .forget):
            Route(destination: .forget, address: address, stream: nil, streamNumber: nil, reader: nil)
        case .device(let address, .state):
            Route(destination: .state, address: address, stream: nil, streamNumber: nil, reader: nil)
        // Messages of collectors and gateways and commands to agents are not stored.
        case .device(_, .ack), .device(_, .command), .device(_, .commandReply),
            .device(_, .event), .device(_, .eventAcknowledged), .device(_, .forgotten), .device(_, .clockPing),
            .device(_, .clockPong),
            .collector, .collectorEvent, .gateway:
            Route(destination: .ignored, address: nil, stream: nil, streamNumber: nil, reader: nil)
        }
    }
}
