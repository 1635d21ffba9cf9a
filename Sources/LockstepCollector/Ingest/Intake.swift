import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

/// Turns messages into what a store writes: checks, decodes, and asks the life cycles.
struct Intake {
    /// µs that a sample may lie in the collector's future.
    let maximumFuture: Int64
    let root: TopicRoot
    /// One reader per stream, shared by all topics of the stream.
    private let readers: [SensorStream: CanonicalBatchReader]
    let limits: PayloadLimits

    /// How many devices there may be.
    let maximumDevices: Int
    var topics = TopicTable<Route>()
    var devices: [KnownDevice] = []
    private var numbers: [DeviceAddress: Int] = [:]
    var droppedSamples: [DeviceAddress: Int64] = [:]
    /// What came in since the last group was taken out.
    var group = IngestGroup()
    /// Counts the groups, from 1.
    var groupNumber = 1
    /// How many samples wait for the commit.
    var waitingSamples = 0
    /// The numbers of devices whose newest live samples the life cycle has still to be told.
    var untold: [Int] = []

    /// Where the messages of a topic go.
    struct Route {
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
        /// What that run holds: that of the next group may hold as much.
        var batches = 0
        var samples = 0
    }

    struct KnownDevice {
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
        readers = Dictionary(
            uniqueKeysWithValues: root.streams.streams.map { ($0, CanonicalBatchReader($0)) })
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
    }

    /// Lets time pass.
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

    /// Whether there is room for a topic's device: bounded against a client that makes devices up.
    mutating func admits(_ route: Int) -> Bool {
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
    func tooManyDevices(position: BatchPosition?) -> PayloadError {
        PayloadError(
            "a new device, and there are \(devices.count) already: raise the collector's --max-devices if it is meant to be",
            position: position, isRetryable: true)
    }

    mutating func reject(_ message: IncomingMessage, reason: String, at moment: Moment) {
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
                    destination: .samples, address: address, stream: stream, reader: readers[stream])
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
