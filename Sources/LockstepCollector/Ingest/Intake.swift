import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepRules
import LockstepStore
import LockstepWire

/// Converts incoming messages into an ``IngestGroup`` for the store: validates, decodes, and updates the life cycles.
///
/// Every message passes through it, so it must not allocate memory per message.
struct Intake {
    /// The maximum time by which a sample may be ahead of the collector's clock, in µs.
    private let maxFuture: Int64
    private let scope: CollectorScope
    /// One reader per stream, shared by all topics of the stream.
    private let readers: [SensorStream: CanonicalBatchReader]
    private let limits: PayloadLimits

    private let maxDevices: Int
    /// The collector whose clock estimates are stored, or nil for those of all collectors.
    var collector: CollectorID?
    private var topics = TopicTable<IntakeRoute>()
    private var devices: [KnownDevice] = []
    private var deviceIndices: [DeviceAddress: Int] = [:]
    /// The number of dropped samples that each agent last reported.
    private var droppedSamples: [DeviceAddress: Int64] = [:]
    /// The messages since the last group was taken.
    var group = IngestGroup()
    /// The number of the current group, from 1.
    private var groupNumber = 1
    /// The number of samples in the current group.
    private(set) var pendingSamples = 0
    private var pool: RunPool
    private let streamNumbers: [SensorStream: Int]
    /// The devices whose newest live samples have not been reported to the life cycle yet, as indices into `devices`.
    private var pendingDevices: [Int] = []

    var sessions = SessionRegistry(at: .now())
    /// What to do about forgotten devices. The collector takes it.
    var forgetting = Forgetting()
    /// The devices with a wrong clock. The collector logs them.
    var clockDifferences = ClockDifferences()
    /// What each device has used up of what it may leave in memory and in the store.
    private var accounts = DeviceAccounts()
    /// The batches that were rejected for now. The collector reports them to their agents.
    var refusedBatches = RefusedBatches()
    /// What shows that the session has subscriptions of earlier settings. The collector ends them.
    var earlierSubscriptions = EarlierSubscriptions()

    /// A device in the store or in the current group.
    private struct KnownDevice {
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
    }

    /// - Parameter devices: the devices in the store.
    init(
        scope: CollectorScope, limits: PayloadLimits, maxFuture: Int64, maxDevices: Int,
        devices: some Sequence<DeviceAddress>
    ) {
        self.scope = scope
        readers = Dictionary(
            uniqueKeysWithValues: scope.root.streams.streams.map { ($0, CanonicalBatchReader($0)) })
        streamNumbers = Dictionary(
            uniqueKeysWithValues: scope.root.streams.streams.enumerated().map { ($0.element, $0.offset) })
        pool = RunPool(streams: streamNumbers.count)
        self.limits = limits
        self.maxFuture = maxFuture
        self.maxDevices = maxDevices
        for address in devices { add(address) }
    }

    var deviceLimits: DeviceLimits {
        get { accounts.limits }
        set { accounts.limits = newValue }
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
        sessions.complete(&group, at: moment)
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

    /// Keeps the memory of the runs of a group that was written.
    mutating func recycle(_ runs: consuming [SampleRun]) { pool.recycle(runs) }

    /// Records what the store knows of an epoch after a commit.
    mutating func didCommit(_ scope: IngestResult.Scope) {
        accounts.didCommit(scope, of: index(of: scope.key.device))
    }

    /// Forgets what devices have used up, because their messages are received again.
    mutating func restoreAllowances() { accounts.restore() }

    mutating func takeUnstoredRejections() -> Int { accounts.takeUnstoredRejections() }

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
            case .delete: try ingestDeletion(message, route: route, at: moment)
            case .session(let key, let verb): try ingestSession(message, key, verb, registry, at: moment)
            case .reply: ingestReply(message, route: route, at: moment)
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
    private var isFull: Bool { devices.count / 2 >= maxDevices }

    /// Adds the topic's device if it is new. The number of devices is limited because a client could invent device ids.
    /// Forgotten devices do not count, until they send again, but limit the number of new ones.
    /// - Returns: false if the limit is reached.
    private mutating func admitDevice(of route: Int, _ registry: borrowing LifecycleRegistry) -> Bool {
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
    private func hasPlace(_ registry: borrowing LifecycleRegistry) -> Bool {
        devices.count - registry.forgottenCount < maxDevices
    }

    /// Returns the index of a device in `devices`, or nil if it is unknown.
    private func index(of address: DeviceAddress) -> Int? { deviceIndices[address] }

    private mutating func add(_ address: DeviceAddress) {
        deviceIndices[address] = devices.count
        devices.append(KnownDevice(address: address))
        accounts.add()
    }

    private func checkSize(of message: IncomingMessage) throws(PayloadError) {
        guard message.payload.count <= limits.bytes else {
            throw PayloadError("the payload has \(message.payload.count) bytes: the limit is \(limits.bytes)")
        }
    }

    /// The error for a new device beyond the limit. The agent keeps the batch, because the limit may be raised.
    private func tooManyDevices(position: BatchPosition?) -> PayloadError {
        let limit = isFull ? "the limit of \(2 * maxDevices) with forgotten ones" : "the limit of \(maxDevices)"
        return PayloadError(
            "too many devices: \(limit) is reached; raise the collector's --max-devices to accept more",
            position: position, isRetryable: true)
    }

    private mutating func reject(_ message: IncomingMessage, reason: String, at moment: Moment) {
        guard accounts.storesRejection(of: message.topicBytes, at: moment) else {
            accounts.addUnstoredRejection()
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

    private mutating func newRoute(_ topic: String) throws -> IntakeRoute {
        guard scope.covers(topic) else { return IntakeRoute(.outside) }
        earlierSubscriptions.receivedTopic(topic, in: scope)
        var route = IntakeRoute(try scope.root.parse(topic), in: scope, of: collector)
        if let stream = route.stream { (route.reader, route.streamNumber) = (readers[stream], streamNumbers[stream]) }
        return route
    }

    // MARK: Batches

    /// Adds a batch of samples to the group.
    /// - Throws: the reason for a rejection. In this case nothing of the batch is kept, except its sequence number if
    ///   the batch can never be stored.
    private mutating func ingestBatch(
        _ message: IncomingMessage, route: Int, _ registry: inout LifecycleRegistry, at moment: Moment
    ) throws {
        // MQTT clears a topic with an empty retained message.
        if message.payload.isEmpty, message.isRetained { return }
        let run = openRun(route: route)
        let before = group.runs[run].samples.count
        do throws(PayloadError) {
            try decode(message, route: route, into: run, at: moment)
            let newest = Timestamp(microseconds: group.runs[run].samples.times.last ?? 0)
            let isLive = group.runs[run].batches.last?.isLive == true
            try validateLastBatch(of: run, newest: newest, route: route, registry, at: moment)
            let count = group.runs[run].samples.count - before
            pendingSamples += count
            topics[route].batches += 1
            topics[route].samples += count
            if message.isRetained { return }
            if isLive, let device = topics[route].device {
                recordLiveSamples(newest, of: device, &registry, at: moment)
            } else {
                recordReturn(of: route, &registry, at: moment)
            }
        } catch {
            if group.runs[run].batches.isEmpty {
                // The run was opened for this batch, so it is the last one.
                group.runs.removeLast()
                topics[route].group = 0
            }
            recordUnstorable(error, route: route, registry, at: moment)
            if error.isRetryable, !message.isRetained, let position = error.position,
                let address = topics[route].address
            {
                refusedBatches.add(position, of: address, reason: error.description)
            }
            if !message.isRetained { recordReturn(of: route, &registry, at: moment) }
            throw error
        }
    }

    /// Refuses a numbered batch of a stream that is not known here. It may be declared later, or the collector upgraded, so the
    /// batch stays with its agent, which receives the reason.
    private mutating func refuse(_ message: IncomingMessage, _ error: TopicError) {
        guard !message.isRetained, let address = error.address, scope.contains(address),
            let position = BatchEncoding.position(
                of: message.payload, contentType: message.contentType, limits: limits)
        else { return }
        refusedBatches.add(position, of: address, reason: error.description)
    }

    /// Returns the index of the topic's run in the current group. Opens the run if necessary.
    private mutating func openRun(route: Int) -> Int {
        if topics[route].group == groupNumber { return topics[route].run }
        // Reserve capacity only for topics of the previous group. Reservations for all known topics would take far more
        // memory than the messages of one group.
        let isSteady = topics[route].group == groupNumber - 1
        topics[route].group = groupNumber
        topics[route].run = group.runs.count
        let samples = isSteady ? topics[route].samples : 0
        var run =
            pool.take(stream: topics[route].streamNumber, of: topics[route].address, samples: samples)
            ?? newRun(route: route, isSteady: isSteady)
        run.deviceNumber = topics[route].device.flatMap { devices[$0].number }
        group.runs.append(consume run)
        topics[route].batches = 0
        topics[route].samples = 0
        return group.runs.count - 1
    }

    private func newRun(route: Int, isSteady: Bool) -> SampleRun {
        guard let address = topics[route].address, let stream = topics[route].stream else {
            preconditionFailure("a route to samples has an address and a stream")
        }
        var run = SampleRun(
            device: address, stream: stream, expectedBatches: isSteady ? topics[route].batches : 0,
            samples: isSteady ? topics[route].samples : 0)
        run.streamNumber = topics[route].streamNumber
        return run
    }

    private mutating func decode(
        _ message: IncomingMessage, route: Int, into run: Int, at moment: Moment
    ) throws(PayloadError) {
        try checkSize(of: message)
        let limits = limits
        if message.payload.first == UInt8(ascii: "{"), let reader = topics[route].reader,
            group.runs[run].append(
                at: moment.wall,
                { samples, epoch in reader.read(message.payload, into: &samples, limits: limits, expecting: epoch) })
        {
            return
        }
        let batch = try BatchEncoding.decode(
            message.payload, contentType: message.contentType, stream: group.runs[run].samples.stream, limits: limits)
        group.runs[run].append(batch, at: moment.wall)
    }

    /// Checks the batch that was just decoded, and removes it from its run if it is not acceptable.
    private mutating func validateLastBatch(
        of run: Int, newest: Timestamp, route: Int, _ registry: borrowing LifecycleRegistry, at moment: Moment
    ) throws(PayloadError) {
        let isTimePlausible = newest - moment.wall <= maxFuture
        let position = group.runs[run].batches.last?.position
        let hasWrongUnit = position == nil && newest.microseconds < Self.earliestTime
        if isTimePlausible, !hasWrongUnit, admitDevice(of: route, registry) {
            guard let position, let device = topics[route].device else { return }
            do { try accounts.use(position, of: device, devices[device].address, at: moment) } catch {
                group.runs[run].removeLast()
                throw error
            }
            return
        }
        group.runs[run].removeLast()
        if hasWrongUnit { throw PayloadError(wrongUnitOf: newest) }
        guard !isTimePlausible else { throw tooManyDevices(position: position) }
        throw PayloadError(
            "sample time \(newest) is in the future: check the clocks of the device and of the collector",
            position: position, isRetryable: true)
    }

    /// The time before which a batch without a number is rejected, in µs since 1970: 2000-01-01. Its client has probably sent
    /// seconds or milliseconds. A numbered batch is stored with any time: an agent whose device has no clock yet, and starts
    /// in 1970, has accepted it.
    private static let earliestTime: Int64 = 946_684_800_000_000

    /// Records the sequence number of a batch that can never be stored. Otherwise its agent would resend it forever.
    ///
    /// A batch that may be accepted later stays with the agent: recording its number would make the agent delete it.
    private mutating func recordUnstorable(
        _ error: PayloadError, route: Int, _ registry: borrowing LifecycleRegistry, at moment: Moment
    ) {
        guard let position = error.position, !error.isRetryable, admitDevice(of: route, registry),
            let address = topics[route].address, let device = topics[route].device,
            (try? accounts.use(position, of: device, address, at: moment)) != nil
        else { return }
        group.dropped.append(
            DroppedBatches(
                device: address, epoch: position.epoch, ranges: SequenceSet([position.seq...position.seq])))
    }

    /// Passes live samples to the life cycle of their device, or keeps the newest timestamp for later if the samples
    /// cannot change the state.
    private mutating func recordLiveSamples(
        _ newest: Timestamp, of device: Int, _ registry: inout LifecycleRegistry, at moment: Moment
    ) {
        guard devices[device].settledInGroup != groupNumber else {
            // The life cycle limits timestamps to the current time, but receives this one later. Limit it now.
            devices[device].newest = max(devices[device].newest, min(newest, moment.wall))
            if !devices[device].isPending { pendingDevices.append(device) }
            devices[device].isPending = true
            return
        }
        let number = devices[device].number ?? registry.number(of: devices[device].address, at: moment)
        devices[device].number = number
        let state = registry.handle(.liveSamples(newest: newest), of: number, at: moment, into: &group)
        guard state == .active || state == .inactive else { return }
        devices[device].settledInGroup = groupNumber
        devices[device].newest = min(newest, moment.wall)
    }

    /// Reports the newest live samples of all pending devices to their life cycles.
    private mutating func reportNewest(_ registry: inout LifecycleRegistry, at moment: Moment) {
        for device in pendingDevices { reportNewest(of: device, &registry, at: moment) }
        pendingDevices.removeAll(keepingCapacity: true)
    }

    /// Reports the newest live samples of one device to its life cycle. Call it before any other event
    /// of the device.
    private mutating func reportNewest(of device: Int, _ registry: inout LifecycleRegistry, at moment: Moment) {
        devices[device].settledInGroup = 0
        guard devices[device].isPending else { return }
        devices[device].isPending = false
        registry.handle(
            .liveSamples(newest: devices[device].newest), of: devices[device].address, at: moment, into: &group)
    }

    // MARK: Presences

    /// Adds a presence message to the group.
    /// - Throws: the reason for a rejection.
    private mutating func ingestPresence(
        _ message: IncomingMessage, route: Int, _ registry: inout LifecycleRegistry, at moment: Moment
    ) throws {
        guard !message.payload.isEmpty, let device = topics[route].address else { return }
        try checkSize(of: message)
        if let known = index(of: device) { try accounts.usePresence(of: known, at: moment) }
        let presence = try PresenceJSON.decode(message.payload)
        if let session = presence.session, session - moment.wall.microseconds > maxFuture {
            throw PayloadError(
                "the session \(Timestamp(microseconds: session)) is in the future: check the clocks of the device and of the "
                    + "collector")
        }
        let isReturn = !registry.isForgotten(device) || registry.showsReturn(presence, of: device)
        guard !isReturn || admitDevice(of: route, registry) else { throw tooManyDevices(position: nil) }
        if let known = index(of: device) {
            let changesState = registry.changesState(.presence(presence), of: device, at: moment)
            try accounts.use(presence, of: known, device, changesState: changesState, at: moment)
        }
        if let epoch = presence.epoch, !presence.dropped.isEmpty {
            group.dropped.append(
                DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet(presence.dropped)))
        }
        guard isReturn else { return forgetting.addEnd(of: device) }
        // A retained presence may be older than batches that were received before.
        if let report = OutboxReport(presence), !message.isRetained {
            group.reports[DeviceEpoch(device: device, epoch: report.epoch)] = report
        }
        if let number = topics[route].device { reportNewest(of: number, &registry, at: moment) }
        if let clock = presence.clock { ingest(clock, of: device, epoch: presence.epoch, at: moment) }
        // A last will comes from the broker, so it does not show that the device is alive.
        if presence.phase != .lost {
            group.seen[device] = moment.wall
            droppedSamples[device] = presence.droppedSamples > 0 ? presence.droppedSamples : nil
            sessions.receive(presence.calibration, of: device)
        }
        registry.handle(.presence(presence), of: device, at: moment, into: &group)
    }

    /// Adds the estimates of a device's clock against this collector's.
    private mutating func ingest(_ report: ClockReport, of device: DeviceAddress, epoch: Epoch?, at moment: Moment) {
        guard let epoch, let index = index(of: device) else { return }
        if let point = report.points.last(where: { $0.collector == collector ?? $0.collector }) {
            clockDifferences.observe(point.offset, of: device, at: moment.boot)
        }
        // The estimates of different collectors are independent, and one collector stores only its own.
        for point in report.points.sorted(by: { $0.time < $1.time })
        where point.collector == collector ?? point.collector {
            guard point.time - moment.wall <= maxFuture,
                collector == nil || accounts.useEstimate(point.time, of: index, epoch, at: moment)
            else { continue }
            group.clocks.append(DeviceClock(device: device, epoch: epoch, point: point))
        }
    }

    // MARK: Acknowledgements of events

    /// Adds a person's acknowledgement of an event to the group.
    /// - Throws: the reason for a rejection.
    private mutating func ingestAcknowledgement(_ message: IncomingMessage, route: Int, at moment: Moment) throws {
        guard !message.payload.isEmpty else { return }
        try checkSize(of: message)
        let key = try EventAcknowledgementJSON.decodeRequest(Data(message.payload), of: topics[route].address)
        group.acknowledgements.append(EventAcknowledgement(key: key, at: moment.wall))
    }

    // MARK: Deletions

    /// Adds a person's request to delete samples to the group.
    /// - Throws: the reason for a rejection.
    private mutating func ingestDeletion(_ message: IncomingMessage, route: Int, at moment: Moment) throws {
        guard !message.payload.isEmpty, !message.isRetained, let device = topics[route].address else { return }
        try checkSize(of: message)
        let deletion = try DeletionJSON.decode(Data(message.payload), of: device, at: moment.wall)
        guard index(of: device) != nil else {
            throw PayloadError("there is nothing to delete: the device has never sent anything")
        }
        group.deletions.append(deletion)
    }

    // MARK: Sessions

    /// Carries out a request about a session.
    /// - Throws: the reason for a rejection.
    private mutating func ingestSession(
        _ message: IncomingMessage, _ key: RecordingSession.Key, _ verb: SessionRequest.Verb,
        _ registry: borrowing LifecycleRegistry, at moment: Moment
    ) throws {
        // A retained request would be repeated after each connection.
        guard !message.isRetained else { return }
        try checkSize(of: message)
        let request = try SessionJSON.decode(
            verb, Data(message.payload), of: key, at: moment.wall, streams: scope.root.streams)
        let known = verb == .start ? devices(of: key.group, registry) : []
        try sessions.handle(request, of: key, known: { known }, at: moment)
    }

    /// Carries out what a rule asks for sessions.
    /// - Throws: the reason why this is not possible.
    mutating func record(
        _ action: RecordAction, for event: StoredEvent, _ registry: borrowing LifecycleRegistry, at moment: Moment
    ) throws {
        guard let device = event.device else { throw PayloadError("the event is about no device") }
        guard scope.containsGroup(device.group) else {
            throw PayloadError("the sessions of the group '\(device.group)' need a collector of the whole group")
        }
        let known = devices(of: device.group, registry)
        try sessions.perform(action, for: event, of: device, known: { known }, at: moment)
    }

    /// Returns the devices of a session of a group.
    private func devices(of group: GroupID, _ registry: borrowing LifecycleRegistry) -> [DeviceID] {
        var (all, running): ([DeviceID], [DeviceID]) = ([], [])
        for device in registry.devices where device.group == group {
            all.append(device.device)
            // A device that was stopped joins when it sends again.
            if registry.state(of: device) != .terminated { running.append(device.device) }
        }
        return running.isEmpty ? all : running
    }

    /// Passes an agent's reply to the session that has sent the request. Others are for other clients.
    private mutating func ingestReply(_ message: IncomingMessage, route: Int, at moment: Moment) {
        guard sessions.isActive, !message.isRetained, message.payload.count <= limits.bytes,
            let device = topics[route].address, let reply = try? ReplyJSON.decode(Data(message.payload))
        else { return }
        sessions.receive(reply, of: device, at: moment)
    }

    // MARK: Forgotten devices

    /// Handles a request to forget a device. A device that is online is not forgotten.
    /// - Throws: the reason for a rejection.
    private mutating func ingestForget(
        _ message: IncomingMessage, route: Int, _ registry: inout LifecycleRegistry, at moment: Moment
    ) throws {
        // A retained request would be repeated after each connection.
        guard !message.payload.isEmpty, !message.isRetained, let device = topics[route].address else { return }
        try checkSize(of: message)
        let request = try ForgetJSON.decodeRequest(Data(message.payload))
        let id = request.id
        guard scope.contains(device) else {
            return forgetting.add(.init(device: device, id: id, outcome: .other), needsCommit: false)
        }
        guard let index = index(of: device) else {
            return forgetting.add(
                .init(device: device, id: id, outcome: .unknown, deletesUnknown: request.deletesUnknown),
                needsCommit: false)
        }
        reportNewest(of: index, &registry, at: moment)
        guard !registry.isOnline(device, at: moment) else {
            return forgetting.add(.init(device: device, id: id, outcome: .online), needsCommit: false)
        }
        let isNew = !registry.isForgotten(device)
        if isNew { registry.handle(.forget, of: device, at: moment, into: &group) }
        droppedSamples[device] = nil
        forgetting.add(.init(device: device, id: id, outcome: .forgotten), needsCommit: isNew)
    }

    /// Handles the deletion of a device's retained state. Another collector has forgotten the device, or has deleted the
    /// state after the device had returned.
    private mutating func ingestDeletedState(
        _ message: IncomingMessage, route: Int, _ registry: borrowing LifecycleRegistry
    ) {
        guard message.payload.isEmpty, let device = topics[route].address, !registry.isForgotten(device),
            registry.lastTransition(of: device) != nil
        else { return }
        forgetting.addDeletedState(of: device)
    }

    /// Lets a forgotten device be known again, because it has sent a batch that changes no state.
    private mutating func recordReturn(of route: Int, _ registry: inout LifecycleRegistry, at moment: Moment) {
        guard registry.hasForgotten, let device = topics[route].address, registry.isForgotten(device),
            hasPlace(registry)
        else { return }
        registry.handle(.backlog, of: device, at: moment, into: &group)
    }
}

extension PayloadError {
    /// Creates the error of a time that is probably in another unit.
    fileprivate init(wrongUnitOf time: Timestamp) {
        let value = time.microseconds
        let unit =
            switch value {
            case ..<100_000_000_000: "seconds: multiply them by 1000000"
            case ..<100_000_000_000_000: "milliseconds: multiply them by 1000"
            default: "another unit, or of a clock that was not set"
            }
        self.init(
            "'t' must be in µs since 1970, and \(value) µs is \(time): this looks like a time in \(unit)")
    }
}
