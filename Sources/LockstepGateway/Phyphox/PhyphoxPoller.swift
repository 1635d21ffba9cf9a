import Dispatch
import LockstepModel
public import Logging
public import ServiceLifecycle
import Synchronization

/// A service that reads the measurements of a phone with the app phyphox, and hands them over to a gateway.
public final class PhyphoxPoller: Service {
    /// The time between two polls.
    private static let interval = DispatchTimeInterval.milliseconds(500)
    /// The longest time between two attempts while the phone does not answer, in s.
    private static let maxDelay = 15
    /// The number of failures after which the phone counts as lost.
    private static let failureLimit = 3
    /// The maximum size of an answer in bytes: almost an hour of three axes at 100 Hz.
    private static let maxAnswer = 16 << 20
    /// The maximum number of samples of one message to the gateway.
    private static let maxReadings = 5000

    private let phone: PhyphoxPhone
    private let gateway: Gateway
    private let logger: Logger
    private let stopped = DispatchSemaphore(value: 0)
    private let isStopped = Atomic(false)

    /// Creates a poller. It starts when ``run()`` is called.
    public init(_ phone: PhyphoxPhone, gateway: Gateway, logger: Logger) {
        self.phone = phone
        self.gateway = gateway
        self.logger = logger
    }

    /// Runs until the surrounding task or service group shuts down.
    public func run() async {
        await withTaskCancellationOrGracefulShutdownHandler {
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                DispatchQueue(label: "lockstep.phyphox").async { [self] in
                    poll()
                    done.resume()
                }
            }
        } onCancelOrGracefulShutdown: { [self] in
            isStopped.store(true, ordering: .releasing)
            stopped.signal()
        }
    }

    private func poll() {
        var recording = PhyphoxRecording(phone)
        var failures = 0
        while !isStopped.load(ordering: .acquiring) {
            var delay = Self.interval
            do {
                try read(&recording)
                if failures >= Self.failureLimit { logger.info("phone answers again", metadata: ["phone": "\(phone)"]) }
                failures = 0
            } catch {
                guard !isStopped.load(ordering: .acquiring) else { return }
                failures += 1
                delay = .seconds(min(Self.maxDelay, failures))
                didFail("\(error)", count: failures, &recording)
            }
            _ = stopped.wait(timeout: .now() + delay)
        }
    }

    private func didFail(_ reason: String, count: Int, _ recording: inout PhyphoxRecording) {
        guard count == Self.failureLimit else { return }
        logger.warning("no connection to phone, retrying", metadata: ["phone": "\(phone)", "error": "\(reason)"])
        let report = ForeignReport(sender: phone.sender, presence: ForeignPresence(.lost, reason: "no-answer"))
        _ = gateway.accept([message([report])])
    }

    private func message(_ reports: [ForeignReport]) -> TranslatedMessage {
        TranslatedMessage(.success(Translation(reports)), from: phone.url, receivedAt: Moment.now().wall)
    }

    /// Runs one poll.
    private func read(_ recording: inout PhyphoxRecording) throws {
        if recording.requests == [.config] {
            try recording.didReceiveConfig(body(.config))
            logger.info(
                "phone connected",
                metadata: ["phone": "\(phone)", "sensors": "\(recording.hasInputs ? "yes" : "none that is known")"])
        }
        var answers: [[UInt8]] = []
        do { for request in recording.requests { answers.append(try body(request)) } } catch let failure
            as HTTPGet.Failure
        {
            guard failure.isTooLarge else { throw failure }
            try recording.skip(to: body(recording.newestRequest))
            logger.warning("recording too large, earlier samples skipped", metadata: ["phone": "\(phone)"])
            return
        }
        guard answers.count == 2,
            let content = try recording.didReceive(values: answers[0], times: answers[1])
        else { return }
        guard store(content.report) else { return }
        recording.didStore(content)
    }

    /// Hands a report over to the gateway.
    /// - Returns: whether it is stored or can never be stored.
    private func store(_ report: ForeignReport) -> Bool {
        var messages: [TranslatedMessage] = []
        var rest = report.readings[...]
        repeat {
            var part = report
            part.readings = Array(rest.prefix(Self.maxReadings))
            part.writtenAt = part.readings.map(\.time).max().map { Timestamp(microseconds: $0) }
            rest = rest.dropFirst(Self.maxReadings)
            messages.append(message([part]))
        } while !rest.isEmpty
        return !gateway.accept(messages).contains(.unavailable)
    }

    private func body(_ request: PhyphoxRecording.Request) throws -> [UInt8] {
        try HTTPGet.body(of: phone.url + request.path, limit: Self.maxAnswer) { [self] in
            isStopped.load(ordering: .acquiring)
        }
    }
}
