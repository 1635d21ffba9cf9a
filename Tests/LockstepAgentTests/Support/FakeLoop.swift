import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepWire
import Logging
import SensorTestSupport

@testable import LockstepAgent

/// Drives an agent's state without broker, disk and sensors: carries out its actions with prepared results, and records
/// them as text.
struct FakeLoop {
    var state: AgentState
    /// The current time in µs of the boot clock.
    var boot: Int64 = 10_000_000
    /// The offset of the wall clock in µs.
    var wallOffset: Int64 = 0
    /// The time for which the machine was suspended, in µs.
    var asleep: Int64 = 0
    /// The actions since the last call of ``take()``.
    private(set) var actions: [String] = []
    private(set) var replies: [AgentReply] = []
    private(set) var presences: [Presence] = []
    private(set) var rates: [SensorStream: Double] = [:]
    /// The samples of each successful write.
    private(set) var written: [SampleBlock] = []
    /// The calibration that was stored last.
    private(set) var stored: SensorCalibration?

    // The results of actions.

    /// The error of writes, or nil if they succeed.
    var writeError: OutboxError?
    /// The number of blocks that a write accepts before the disk is full.
    var writeLimit = Int.max
    /// The batches that each write drops.
    var dropped = Outbox.Dropped()
    var wasDiskFull = false
    /// The error of starting or replacing an epoch, or nil if it succeeds.
    var epochError: OutboxError?
    var isOutboxOlder = true
    /// The error of storing a calibration, or nil if it succeeds.
    var calibrationError: OutboxError?
    /// The results of publishing batches that differ from success.
    var outcomes: [BatchPosition: OutboxDelivery.Outcome] = [:]

    private(set) var epoch = Epoch(unchecked: "e")
    private var seq: Int64 = 0
    private(set) var lastID: Int32 = 0

    /// - Parameters:
    ///   - pending: the numbers of the batches in the outbox.
    ///   - calibration: the calibration in the outbox.
    init(
        streams: [SensorStream] = [.gyroscope], sources: Int = 1, pending: SequenceSet = SequenceSet(),
        calibration: SensorCalibration? = nil,
        configure: (inout AgentConfiguration) -> Void = { _ in }
    ) {
        var configuration = AgentConfiguration(
            address: DeviceAddress(group: .standard, device: DeviceID(unchecked: "pi")),
            broker: BrokerAddress(host: "localhost", port: 1),
            sources: (0..<sources).map { FakeSource(name: "source \($0)", streams: streams) }, outboxPath: "/nowhere")
        configure(&configuration)
        state = AgentState(
            configuration, pending: [Epoch(unchecked: "e"): pending], calibration: calibration,
            at: moment(boot: 10_000_000))
        seq = pending.last ?? 0
        send(.started)
        actions = []
    }

    /// Returns the actions since the last call.
    mutating func take() -> [String] {
        defer { actions = [] }
        return actions
    }

    mutating func send(_ event: AgentState.Event) {
        let now = moment(boot: boot, offset: wallOffset, asleep: asleep)
        for action in state.handle(event, at: now) { perform(action) }
    }

    /// Advances the time by `microseconds`, and runs a turn without reading the link.
    mutating func turn(after microseconds: Int64 = 0) {
        boot += microseconds
        send(.turnBegan)
        for stage in AgentState.Stage.beforeWrite { send(.stage(stage)) }
        send(.stage(.completion))
    }

    mutating func connect(packetLimit: Int? = nil) {
        send(.link(.connected(.five, sessionPresent: false), packetLimit: packetLimit))
    }

    mutating func disconnect(_ code: MQTTError.Code = .connectionLost) {
        send(.link(.disconnected(MQTTError(code, "test"), retryIn: .zero), packetLimit: nil))
    }

    mutating func subscribed(isGranted: Bool = true) {
        send(.link(.subscribed(id: 1, isGranted: isGranted), packetLimit: nil))
    }

    /// Receives the PUBACK of every message so far.
    mutating func acknowledgeMessages() {
        for id in 1...max(1, lastID) { send(.link(.published(id: id, refusal: nil), packetLimit: nil)) }
    }

    mutating func acknowledge(through seq: Int64) {
        send(.acknowledgement(Acknowledgement(epoch: epoch, through: seq), isNewerThanOutbox: false))
    }

    /// Adds samples with the given times in µs after the current time.
    mutating func add(_ times: some Sequence<Int64>, _ stream: SensorStream = .gyroscope) {
        send(.item(.samples(block(times.map { start + boot + $0 }, stream), .own)))
    }

    mutating func request(_ json: String, isRetained: Bool = false) {
        send(.request(Data(json.utf8), isRetained: isRetained))
    }

    private mutating func perform(_ action: AgentState.Action) {
        switch action {
        case .log(let level, let message, let metadata):
            let reason = metadata["reason"].map { " \($0)" } ?? ""
            actions.append("\(level): \(message)\(reason)")
        case .setSourceRates(let rates):
            self.rates = rates
            actions.append("set rates")
        case .write(let blocks, let removing): write(blocks, removing)
        case .publishLive(let entry): publishLive(entry)
        case .publishBacklog:
            while let (_, position) = state.delivery.nextBacklogBatch(at: boot) {
                actions.append("backlog \(position.seq)")
                let outcome = outcome(of: position)
                send(.backlog(position, outcome))
                guard outcome.allowsMore else { return }
            }
        case .publishPresence(let presence):
            presences.append(presence)
            actions.append("presence \(presence.phase.rawValue) (\(presence.reason ?? ""))")
            if state.isConnected {
                lastID += 1
                send(.presencePublished(id: lastID))
            }
        case .subscribe: actions.append("subscribe")
        case .reply(let reply):
            replies.append(reply)
            actions.append("reply")
        case .describe(let id, let description):
            replies.append(AgentReply(id: id, outcome: .described(description)))
            actions.append("reply")
        case .storeCalibration(let calibration, let request):
            if calibrationError == nil { stored = calibration }
            send(.calibrationStored(request, calibration, error: calibrationError))
        case .startEpoch: startEpoch()
        case .compareOutbox(let ack):
            actions.append("compare outbox")
            send(.outboxCompared(ack, isOlder: isOutboxOlder))
        case .replaceEpoch: replaceEpoch()
        case .stopBacklog: actions.append("stop backlog")
        case .reconnect: actions.append("reconnect")
        case .resume(let event): send(event)
        case .close(let removing, let deadline):
            actions.append("close by \(deadline), removing \(Self.text(removing))")
        }
    }

    private mutating func write(_ blocks: [SampleBlock], _ removing: [Epoch: SequenceSet]) {
        let samples = blocks.reduce(0) { $0 + $1.count }
        actions.append("write \(samples)" + (removing.isEmpty ? "" : ", removing \(Self.text(removing))"))
        if let writeError, writeLimit == .max { return send(.writeFailed(blocks, writeError)) }
        var accepted = Outbox.Accepted(
            unwritten: blocks.dropFirst(writeLimit).map { Outbox.Addition(samples: $0) })
        accepted.error = accepted.unwritten.isEmpty ? nil : writeError
        accepted.dropped = dropped
        accepted.wasDiskFull = wasDiskFull
        for block in blocks.prefix(writeLimit) {
            seq += 1
            written.append(block)
            let position = BatchPosition(epoch: epoch, seq: seq)
            accepted.entries.append(Outbox.Entry(position: position, stream: block.stream, body: [1, 2, 3]))
        }
        send(.written(accepted, droppedSamples: dropped.samples))
    }

    private mutating func publishLive(_ entry: Outbox.Entry) {
        let canPublish = state.delivery.canPublishLive(of: 0)
        actions.append(canPublish ? "live \(entry.position.seq)" : "not live \(entry.position.seq)")
        send(.live(entry.position, canPublish ? outcome(of: entry.position) : .notPublished))
    }

    private mutating func outcome(of position: BatchPosition) -> OutboxDelivery.Outcome {
        if let outcome = outcomes[position] { return outcome }
        guard state.isConnected else { return .notPublished }
        lastID += 1
        return .published(id: lastID, bytes: 1000)
    }

    private mutating func startEpoch() {
        actions.append("start epoch")
        if let epochError { return send(.epochFailed(epochError)) }
        epoch = Epoch(unchecked: "f")
        seq = 0
        send(.epochStarted(epoch))
    }

    private mutating func replaceEpoch() {
        actions.append("replace epoch")
        if let epochError { return send(.epochReplacementFailed(epochError)) }
        epoch = Epoch(unchecked: "f")
        send(.epochReplaced(epoch, pending: [epoch: [1...3]]))
    }

    private static func text(_ batches: [Epoch: SequenceSet]) -> String {
        batches.sorted { $0.key < $1.key }.map { epoch, batches in
            "\(epoch)" + batches.ranges.map { " \($0.lowerBound)-\($0.upperBound)" }.joined()
        }.joined(separator: ", ")
    }
}

/// A source that hands over no samples.
struct FakeSource: SensorSource {
    let name: String
    let streams: [SensorStream]

    func run(into sink: any SampleSink) async throws {}
}

/// An error of the outbox, for tests in which its kind does not matter.
let outboxError = OutboxError(path: "/nowhere", CancellationError())
