import ArgumentParser
import FoundationEssentials
import LockstepCommandLine
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepMotion
import LockstepSystem
import LockstepWire

/// A device that is calibrated, and the connection to its agent.
struct CalibrationTarget {
    /// The time that the agent has to reply.
    private static let patience = Duration.seconds(5)

    let device: DeviceAddress
    let root: TopicRoot
    private let connection: ConnectionOptions
    /// Random, because the leases of one client replace each other.
    private let client = "lockstep-calibrate-\(Epoch.random())"
    private let settings: Settings

    init(_ connection: ConnectionOptions, _ device: DeviceArgument) throws {
        self.connection = connection
        settings = try connection.settings()
        root = try connection.topicRoot(settings)
        self.device = try connection.address(of: device, settings, root)
    }

    func link() throws -> (link: BrokerLink, address: BrokerAddress) { try connection.link(settings, for: "calibrate") }

    /// Sends a request to the agent, and waits for the reply.
    /// - Throws: ``CommandFailure`` if the agent refuses it, or why there is no reply.
    @discardableResult
    func send(_ action: AgentRequest.Action) throws -> AgentReply.Outcome {
        let request = PendingRequest(AgentRequest(client: client, action: action), to: device)
        return try connection.send(
            request, for: "calibrate", settings, root, until: .now + Self.patience
        ).0.outcome
    }

    func describe() throws -> AgentDescription {
        guard case .described(let description) = try send(.describe) else {
            throw CommandFailure("\(device): its agent sent another reply than a description")
        }
        return description
    }

    /// Leases a rate of streams.
    /// - Parameter duration: in seconds; nil ends the lease.
    func lease(_ streams: [SensorStream], for duration: Double?) throws {
        for stream in streams {
            let rate = duration == nil ? 0 : CalibrationGuide.rate
            try send(.lease(RateLease(stream: stream, rate: rate, duration: duration ?? 1)))
        }
    }
}

/// The guidance through the positions, with the samples that the broker sends.
final class CalibrationRun {
    private let exchange: BrokerExchange
    private let topics: [String: SensorStream]
    private let say: (String) -> Void
    private let interrupt: Interrupt
    private let device: DeviceAddress
    private var guide: CalibrationGuide
    private var problem: InertialCalibrationError?

    /// - Parameters:
    ///   - streams: the accelerometer, and the gyroscope if the device has one.
    ///   - replaced: the calibration of the samples.
    ///   - say: shows a line to the user.
    init(
        _ target: CalibrationTarget, _ streams: [SensorStream], replaced: InertialCalibration?,
        say: @escaping (String) -> Void
    ) throws {
        let (link, broker) = try target.link()
        let topics = Dictionary(
            streams.map { (target.root.topic(target.device, .stream($0)), $0) }
        ) { first, _ in first }
        interrupt = Interrupt(wakeup: link.wakeup)
        exchange = BrokerExchange(link, broker, qos: .atMostOnce, filters: { Array(topics.keys) })
        (self.topics, self.say, device) = (topics, say, target.device)
        guide = CalibrationGuide(
            hasGyroscope: streams.contains(.gyroscope), replaced: replaced, at: Moment.now().boot)
        link.onMessage = { [unowned self] message in self.handle(message) }
    }

    /// Runs until there are enough positions.
    /// - Parameter patience: in s.
    /// - Throws: ``CommandFailure``, or an exit code after Ctrl-C.
    func run(patience: Double) throws -> InertialCalibrator {
        defer { exchange.close() }
        sayNext()
        _ = try exchange.wait(until: nil) {
            if let signal = interrupt.signal { throw ExitCode(128 + signal) }
            if let problem { throw CommandFailure("\(device): \(problem)") }
            let error = exchange.connectionError
            if let problem = guide.problem(
                at: Moment.now().boot, patience: Int64(patience * 1e6), isConnected: error == nil)
            {
                if let error { throw error }
                throw CommandFailure("\(device): \(problem)")
            }
            return guide.calibrator.isComplete
        }
        return guide.calibrator
    }

    private func handle(_ message: IncomingMessage) {
        // What is sent later than it was measured does not show where the device is now.
        guard let stream = topics[message.topic], !guide.calibrator.isComplete, problem == nil,
            let batch = try? BatchEncoding.decode(
                Data(message.payload), contentType: message.contentType, stream: stream), batch.isLive
        else { return }
        let count = guide.calibrator.count
        do throws(InertialCalibrationError) {
            for note in try guide.add(batch.samples, at: Moment.now().boot) { say("    \(note)") }
            if guide.calibrator.count > count { sayNext() }
        } catch {
            problem = error
        }
    }

    private func sayNext() {
        if let next = guide.next { say(next) }
    }
}
