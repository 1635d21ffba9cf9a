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
    private var topics: [String: Topic] = [:]
    private var devices: Set<DeviceAddress>
    private var droppedSamples: [DeviceAddress: Int64] = [:]
    /// What came in since the last group was taken out.
    private(set) var group = IngestGroup()

    /// - Parameter devices: those that the store knows.
    init(
        root: TopicRoot, limits: PayloadLimits, maximumFuture: Int64, maximumDevices: Int,
        devices: some Sequence<DeviceAddress>
    ) {
        self.root = root
        self.limits = limits
        self.maximumFuture = maximumFuture
        self.maximumDevices = maximumDevices
        self.devices = Set(devices)
    }

    /// How many samples agents say that they had to drop, over all devices heard of since the start.
    var dropped: Int64 {
        droppedSamples.values.reduce(0) { sum, count in
            let (total, overflow) = sum.addingReportingOverflow(count)
            return overflow ? .max : total
        }
    }

    /// How many samples wait for the commit.
    private(set) var waitingSamples = 0

    /// Takes the group out.
    mutating func takeGroup() -> IngestGroup {
        defer {
            group = IngestGroup()
            waitingSamples = 0
        }
        return group
    }

    mutating func tick(_ book: inout LifecycleBook, at moment: Moment) { book.tick(at: moment, into: &group) }

    /// Takes one message in. It never fails: what can't be taken is noted as rejected, with the reason.
    mutating func take(_ message: IncomingMessage, _ book: inout LifecycleBook, at moment: Moment) {
        do {
            switch try topic(message.topic) {
            case .device(let device, .stream(let stream)):
                try takeBatch(message, of: stream, device, &book, at: moment)
            case .device(let device, .presence): try takePresence(message, device, &book, at: moment)
            // What collectors say, and what agents are asked, is not for the store.
            case .device(_, .state), .device(_, .ack), .device(_, .command), .device(_, .commandReply),
                .device(_, .clockPing), .device(_, .clockPong), .collector:
                break
            }
        } catch {
            reject(message, reason: "\(error)", at: moment)
        }
    }

    private mutating func takeBatch(
        _ message: IncomingMessage, of stream: SensorStream, _ device: DeviceAddress, _ book: inout LifecycleBook,
        at moment: Moment
    ) throws {
        // An empty retained message is how MQTT clears a topic.
        if message.payload.isEmpty, message.isRetained { return }
        do {
            guard message.payload.count <= limits.bytes else {
                throw PayloadError("\(message.payload.count) bytes: a payload has at most \(limits.bytes)")
            }
            let batch = try BatchEncoding.decode(
                message.payload, contentType: message.contentType, stream: stream, limits: limits)
            let newest = Timestamp(microseconds: batch.samples.times.last ?? 0)
            guard newest - moment.wall <= maximumFuture else {
                throw PayloadError(
                    "its time \(newest) is in the future: are the clocks of the device and of this collector right?",
                    position: batch.position, mayPass: true)
            }
            guard admits(device) else { throw tooManyDevices(position: batch.position) }
            waitingSamples += batch.samples.count
            group.batches.append(ReceivedBatch(device: device, batch: batch, receivedAt: moment.wall))
            if batch.isLive, !message.isRetained {
                book.handle(.liveSamples(newest: newest), of: device, at: moment, into: &group)
            }
        } catch let error as PayloadError {
            // Its number will never come in a form that can be stored: say so, or the agent sends it for ever. What may
            // pass another time has to stay with the agent: a word of it would make the agent delete it.
            if let position = error.position, !error.mayPass, admits(device) {
                group.dropped.append(
                    DroppedBatches(
                        device: device, epoch: position.epoch, ranges: SequenceSet([position.seq...position.seq])))
            }
            throw error
        }
    }

    private mutating func takePresence(
        _ message: IncomingMessage, _ device: DeviceAddress, _ book: inout LifecycleBook, at moment: Moment
    ) throws {
        if message.payload.isEmpty { return }
        guard message.payload.count <= limits.bytes else {
            throw PayloadError("\(message.payload.count) bytes: a payload has at most \(limits.bytes)")
        }
        let presence = try PresenceJSON.decode(Data(message.payload))
        guard admits(device) else { throw tooManyDevices(position: nil) }
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

    /// Whether there is room for a device: bounded against a client that makes devices up.
    private mutating func admits(_ device: DeviceAddress) -> Bool {
        guard !devices.contains(device) else { return true }
        guard devices.count < maximumDevices else { return false }
        devices.insert(device)
        return true
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
                at: moment.wall, topic: message.topic,
                reason: String(decoding: reason.utf8.prefix(1000), as: UTF8.self),
                size: message.payload.count,
                head: Array(message.payload.prefix(256))))
    }

    /// Reads a topic, remembering those of the devices that there are.
    private mutating func topic(_ text: String) throws -> Topic {
        if let known = topics[text] { return known }
        let topic = try root.parse(text)
        // Bounded against a client that makes topics up.
        if topics.count >= 200_000 { topics.removeAll() }
        topics[text] = topic
        return topic
    }
}
