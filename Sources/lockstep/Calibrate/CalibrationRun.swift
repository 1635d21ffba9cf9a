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
    /// The rate that is requested of the sensors, in samples per second.
    private static let rate = 50.0
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
            let rate = duration == nil ? 0 : Self.rate
            try send(.lease(RateLease(stream: stream, rate: rate, duration: duration ?? 1)))
        }
    }
}

/// The guidance through the positions: it receives the samples of a device, and says what to do next.
final class CalibrationRun {
    private let exchange: BrokerExchange
    private let topics: [String: SensorStream]
    /// The calibration of the samples.
    private let replaced: InertialCalibration?
    private let say: (String) -> Void
    private let interrupt: Interrupt
    private let device: DeviceAddress
    private var detector: StillPositionDetector
    private var calibrator = InertialCalibrator()
    private var problem: InertialCalibrationError?
    private var lastSample: ContinuousClock.Instant
    private var lastPosition: ContinuousClock.Instant

    /// - Parameters:
    ///   - streams: the accelerometer, and the gyroscope if the device has one.
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
        (self.topics, self.replaced, self.say, device) = (topics, replaced, say, target.device)
        detector = StillPositionDetector(hasGyroscope: streams.contains(.gyroscope))
        lastSample = .now
        lastPosition = .now
        link.onMessage = { [unowned self] message in self.handle(message) }
    }

    /// Runs until there are enough positions.
    /// - Throws: ``CommandFailure``, or an exit code after Ctrl-C.
    func run(patience: Duration) throws -> InertialCalibrator {
        defer { exchange.close() }
        lastSample = .now
        lastPosition = .now
        sayNext()
        _ = try exchange.wait(until: nil) {
            if let signal = interrupt.signal { throw ExitCode(128 + signal) }
            if let problem { throw CommandFailure("\(device): \(problem)") }
            guard .now - lastSample < .seconds(20) || exchange.connectionError != nil else {
                throw CommandFailure(
                    "no samples from \(device) for 20 s: check with 'lockstep doctor' that its agent runs, and that its "
                        + "--window is not longer")
            }
            guard .now - lastPosition < patience else {
                if let error = exchange.connectionError { throw error }
                throw CommandFailure("\(device) was not laid in a new position in time: nothing was changed")
            }
            return calibrator.isComplete
        }
        return calibrator
    }

    private func handle(_ message: IncomingMessage) {
        // What is sent later than it was measured does not show where the device is now.
        guard let stream = topics[message.topic], !calibrator.isComplete, problem == nil,
            let batch = try? BatchEncoding.decode(
                Data(message.payload), contentType: message.contentType, stream: stream), batch.isLive
        else { return }
        lastSample = .now
        for position in detector.add(replaced?.uncalibrated(batch.samples) ?? batch.samples) { add(position) }
    }

    private func add(_ position: StillPosition) {
        guard !calibrator.isComplete, problem == nil else { return }
        do throws(InertialCalibrationError) {
            guard try calibrator.add(position) else {
                return say(
                    "    at rest, but not used: "
                        + (position.face == nil && calibrator.missing.isEmpty
                            ? "tilt it further, and in another direction than before"
                            : "this position was used already, or is between two sides"))
            }
            lastPosition = .now
            let acceleration = position.acceleration
            let size = (acceleration * acceleration).sum().squareRoot()
            say("    \(position.face?.rawValue ?? "tilted"): |a| is \(fixed(size, 4)) g")
            sayNext()
        } catch {
            problem = error
        }
    }

    private func sayNext() {
        guard !calibrator.isComplete else { return }
        let total = 6 + InertialCalibrator.checks
        let next = calibrator.missing.first?.instruction ?? "lean it against something, on an edge or a corner"
        say("\(calibrator.count + 1) of \(total): \(next), and leave it alone for three seconds")
    }
}

extension DeviceOrientation {
    /// How to lay the device so that it has this orientation.
    fileprivate var instruction: String {
        switch self {
        case .faceUp: "lay it flat, its screen up (z up)"
        case .faceDown: "lay it flat, its screen down (z down)"
        case .portrait: "stand it upright, its top edge up (y up)"
        case .portraitUpsideDown: "stand it upside down, its top edge down (y down)"
        case .landscapeLeft: "stand it on its left edge, its right edge up (x up)"
        case .landscapeRight: "stand it on its right edge, its left edge up (x down)"
        }
    }
}
