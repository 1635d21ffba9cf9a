import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

/// Turns messages into what a store writes: checks, decodes, and asks the life cycles.
struct Intake {
    /// µs that a sample may lie in the collector's future.
    let maximumFuture: Int64
    let root: TopicRoot
    let limits: PayloadLimits

    /// How many devices there may be.
    let maximumDevices: Int
    private var topics = TopicTable<Route>()
    private var devices: [KnownDevice] = []
    private var numbers: [DeviceAddress: Int] = [:]
    private var droppedSamples: [DeviceAddress: Int64] = [:]
    /// What came in since the last group was taken out.
    private(set) var group = IngestGroup()
    /// Counts the groups, from 1.
    private var groupNumber = 1
    /// How many samples, and batches of them, wait for the commit.
    private(set) var waitingSamples = 0
    private(set) var waitingBatches = 0
    /// The numbers of devices whose newest live samples the life cycle has still to be told.
    private var untold: [Int] = []

    /// Where the messages of a topic go.
    private struct Route {
        enum Destination { case samples, presence, nowhere }

        let destination: Destination
        let address: DeviceAddress?
        let stream: SensorStream?
        let reader: CanonicalBatchReader?
        /// Among the devices; nil until it is one of them.
        var device: Int?
        /// The run of this topic, and the number of the group that has it.
        var run = 0
        var group = 0
    }

    private struct KnownDevice {
        let address: DeviceAddress
        /// The number of the group in which further live samples can't change its state any more: then it is enough for
        /// the life cycle to be told of the newest.
        var steadyIn = 0
        /// The newest live sample of that group, and whether the life cycle has still to be told of it.
        var newest = Timestamp(microseconds: 0)
        var isUntold = false
    }

    /// - Parameter devices: those that the store knows.
    init(
        root: TopicRoot, limits: PayloadLimits, maximumFuture: Int64, maximumDevices: Int,
        devices: some Sequence<DeviceAddress>
    ) {
        self.root = root
        self.limits = limits
        self.maximumFuture = maximumFuture
        self.maximumDevices = maximumDevices
        for address in devices { add(address) }
    }

    /// How many samples agents say that they had to drop, over all devices heard of since the start.
    var dropped: Int64 {
        droppedSamples.values.reduce(0) { sum, count in
            let (total, overflow) = sum.addingReportingOverflow(count)
            return overflow ? .max : total
        }
    }

    /// Takes the group out.
    mutating func takeGroup(_ book: inout LifecycleBook, at moment: Moment) -> IngestGroup {
        tellNewest(&book, at: moment)
        defer { discard() }
        return group
    }

    /// Forgets the group.
    mutating func discard() {
        for device in untold { devices[device].isUntold = false }
        untold.removeAll(keepingCapacity: true)
        group = IngestGroup()
        groupNumber += 1
        waitingSamples = 0
        waitingBatches = 0
    }

    mutating func tick(_ book: inout LifecycleBook, at moment: Moment) {
        tellNewest(&book, at: moment)
        book.tick(at: moment, into: &group)
    }

    /// Takes one message in. It never fails: what can't be taken is noted as rejected, with the reason.
    mutating func take(_ message: IncomingMessage, _ book: inout LifecycleBook, at moment: Moment) {
        do {
            let route = try route(of: message)
            switch topics[route].destination {
            case .samples: try takeBatch(message, of: route, &book, at: moment)
            case .presence: try takePresence(message, of: route, &book, at: moment)
            case .nowhere: break
            }
        } catch {
            reject(message, reason: "\(error)", at: moment)
        }
    }

    private mutating func takeBatch(
        _ message: IncomingMessage, of route: Int, _ book: inout LifecycleBook, at moment: Moment
    ) throws {
        // An empty retained message is how MQTT clears a topic.
        if message.payload.isEmpty, message.isRetained { return }
        let run = openRun(of: route)
        let before = group.runs[run].samples.count
        do throws(PayloadError) {
            try read(message, of: route, into: run, at: moment)
            let newest = Timestamp(microseconds: group.runs[run].samples.times.last ?? 0)
            let isLive = group.runs[run].batches.last?.isLive == true
            try admitLastBatch(of: run, newest: newest, from: route, at: moment)
            waitingSamples += group.runs[run].samples.count - before
            waitingBatches += 1
            if isLive, !message.isRetained, let device = topics[route].device {
                hear(newest, of: device, &book, at: moment)
            }
        } catch {
            if group.runs[run].batches.isEmpty {
                // It was made for this batch, so it is the last.
                group.runs.removeLast()
                topics[route].group = 0
            }
            noteDropped(error, from: route)
            throw error
        }
    }

    /// The run of a topic in the present group.
    private mutating func openRun(of route: Int) -> Int {
        if topics[route].group == groupNumber { return topics[route].run }
        guard let address = topics[route].address, let stream = topics[route].stream else {
            preconditionFailure("a topic of samples has both")
        }
        topics[route].group = groupNumber
        topics[route].run = group.runs.count
        group.runs.append(SampleRun(device: address, stream: stream))
        return group.runs.count - 1
    }

    private mutating func read(
        _ message: IncomingMessage, of route: Int, into run: Int, at moment: Moment
    ) throws(PayloadError) {
        guard message.payload.count <= limits.bytes else {
            throw PayloadError("\(message.payload.count) bytes: a payload has at most \(limits.bytes)")
        }
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

    /// Sees whether the batch that was just read can stay, and takes it out of its run again if not.
    private mutating func admitLastBatch(
        of run: Int, newest: Timestamp, from route: Int, at moment: Moment
    ) throws(PayloadError) {
        let isPossible = newest - moment.wall <= maximumFuture
        if isPossible, admits(route) { return }
        let position = group.runs[run].batches.last?.position
        group.runs[run].removeLast()
        guard !isPossible else { throw tooManyDevices(position: position) }
        throw PayloadError(
            "its time \(newest) is in the future: are the clocks of the device and of this collector right?",
            position: position, mayPass: true)
    }

    /// Notes that a batch will never come in a form that can be stored, or the agent would send it for ever. What may
    /// pass another time has to stay with the agent: a word of it would make the agent delete it.
    private mutating func noteDropped(_ error: PayloadError, from route: Int) {
        guard let position = error.position, !error.mayPass, admits(route),
            let address = topics[route].address
        else { return }
        group.dropped.append(
            DroppedBatches(
                device: address, epoch: position.epoch, ranges: SequenceSet([position.seq...position.seq])))
    }

    /// Tells the life cycle of live samples.
    private mutating func hear(
        _ newest: Timestamp, of device: Int, _ book: inout LifecycleBook, at moment: Moment
    ) {
        guard devices[device].steadyIn != groupNumber else {
            // As the life cycle would do now: later it takes a later present for its bound.
            devices[device].newest = max(devices[device].newest, min(newest, moment.wall))
            if !devices[device].isUntold { untold.append(device) }
            devices[device].isUntold = true
            return
        }
        let state = book.handle(
            .liveSamples(newest: newest), of: devices[device].address, at: moment, into: &group)
        guard state == .active || state == .inactive else { return }
        devices[device].steadyIn = groupNumber
        devices[device].newest = min(newest, moment.wall)
    }

    private mutating func tellNewest(_ book: inout LifecycleBook, at moment: Moment) {
        for device in untold { tellNewest(of: device, &book, at: moment) }
        untold.removeAll(keepingCapacity: true)
    }

    private mutating func tellNewest(of device: Int, _ book: inout LifecycleBook, at moment: Moment) {
        devices[device].steadyIn = 0
        guard devices[device].isUntold else { return }
        devices[device].isUntold = false
        book.handle(
            .liveSamples(newest: devices[device].newest), of: devices[device].address, at: moment, into: &group)
    }

    private mutating func takePresence(
        _ message: IncomingMessage, of route: Int, _ book: inout LifecycleBook, at moment: Moment
    ) throws {
        guard !message.payload.isEmpty, let device = topics[route].address else { return }
        guard message.payload.count <= limits.bytes else {
            throw PayloadError("\(message.payload.count) bytes: a payload has at most \(limits.bytes)")
        }
        let presence = try PresenceJSON.decode(message.payload)
        guard admits(route) else { throw tooManyDevices(position: nil) }
        if let number = topics[route].device { tellNewest(of: number, &book, at: moment) }
        if let epoch = presence.epoch, !presence.dropped.isEmpty {
            group.dropped.append(
                DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet(presence.dropped)))
        }
        if presence.phase != .lost {
            group.seen[device] = moment.wall
            droppedSamples[device] = presence.droppedSamples > 0 ? presence.droppedSamples : nil
        }
        book.handle(.presence(presence), of: device, at: moment, into: &group)
    }

    /// Whether there is room for a topic's device: bounded against a client that makes devices up.
    private mutating func admits(_ route: Int) -> Bool {
        if topics[route].device != nil { return true }
        guard let address = topics[route].address else { return false }
        if numbers[address] == nil {
            guard devices.count < maximumDevices else { return false }
            add(address)
        }
        topics[route].device = numbers[address]
        return true
    }

    private mutating func add(_ address: DeviceAddress) {
        numbers[address] = devices.count
        devices.append(KnownDevice(address: address))
    }

    /// The agent keeps what it has: the limit may be raised.
    private func tooManyDevices(position: BatchPosition?) -> PayloadError {
        PayloadError(
            "a new device, and there are \(devices.count) already: raise the collector's --max-devices if it is meant to be",
            position: position, mayPass: true)
    }

    private mutating func reject(_ message: IncomingMessage, reason: String, at moment: Moment) {
        group.rejected.append(
            RejectedMessage(
                // It may quote what came, and one character can be as long as a payload.
                at: moment.wall, topic: String(decoding: message.topicBytes.prefix(256), as: UTF8.self),
                reason: String(decoding: reason.utf8.prefix(1000), as: UTF8.self),
                size: message.payload.count,
                head: Array(message.payload.prefix(256))))
    }

    /// Where a message goes, by its topic.
    private mutating func route(of message: IncomingMessage) throws -> Int {
        if let known = topics.index(of: message.topicBytes) { return known }
        let route =
            switch try root.parse(message.topic) {
            case .device(let address, .stream(let stream)):
                Route(
                    destination: .samples, address: address, stream: stream, reader: CanonicalBatchReader(stream))
            case .device(let address, .presence):
                Route(destination: .presence, address: address, stream: nil, reader: nil)
            // What collectors say, and what agents are asked, is not for the store.
            case .device(_, .state), .device(_, .ack), .device(_, .command), .device(_, .commandReply),
                .device(_, .clockPing), .device(_, .clockPong), .collector:
                Route(destination: .nowhere, address: nil, stream: nil, reader: nil)
            }
        // Bounded against a client that makes topics up.
        if topics.count >= 200_000 { topics = TopicTable() }
        return topics.add(message.topicBytes, route)
    }
}
