import CCurl
import Dispatch
import LockstepModel
import LockstepTransfer
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

/// The address of a phone whose app phyphox has remote access switched on.
public struct PhyphoxPhone: Sendable, Hashable, CustomStringConvertible {
    /// The name of the format, which begins the foreign names.
    static let formatName = "phyphox"
    /// The phone is asked at least every 15 s.
    static let silence = SilenceLimits(all: 120_000_000)

    /// The URL without a slash at the end: `http://192.168.0.12:8080`.
    public let url: String
    /// The host, and the port if the URL has one.
    public let authority: String

    /// Parses a URL.
    /// - Returns: nil if it is not the HTTP URL of a server, or has a user, a path or a query.
    public init?(_ text: String) {
        let schemes = ["http://", "https://"]
        guard let scheme = schemes.first(where: { text.hasPrefix($0) }) else { return nil }
        var rest = text.dropFirst(scheme.count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.isEmpty, rest.count <= 255,
            rest.utf8.allSatisfy({ $0.isASCIIAlphanumeric || ".-:[]".utf8.contains($0) })
        else { return nil }
        url = scheme + rest
        authority = String(rest)
    }

    /// The URL.
    public var description: String { url }

    /// The name of the sender.
    public var sender: ForeignName { ForeignName(Self.formatName, [authority]) }
}

/// An HTTP request with the method GET, by libcurl. It blocks its thread.
enum HTTPGet {
    /// A request without an answer that can be used.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        /// Whether the answer was larger than allowed.
        var isTooLarge = false
    }

    /// The longest time to connect, and the longest time without progress, in s. The whole request has no limit: a
    /// phone that was away for long sends megabytes.
    private static let timeouts = (connect: 3, stall: 20)
    /// An answer that is slower counts as no progress, in bytes per second.
    private static let minimumSpeed = 100

    /// Returns the body of an answer with the status 200. Each request has a connection of its own: some phones do not
    /// answer a second one.
    /// - Parameters:
    ///   - limit: the maximum size of the body in bytes.
    ///   - isStopped: is asked before the request and at least once a second, and ends it.
    static func body(
        of url: String, limit: Int, isStopped: @escaping () -> Bool
    ) throws(Failure) -> [UInt8] {
        let stop = Failure(description: "the request was stopped")
        guard !isStopped() else { throw stop }
        let request: CurlHandle
        do throws(CurlError) {
            request = try CurlHandle()
            try request.set(CURLOPT_URL, url)
            try request.set(CURLOPT_PROTOCOLS_STR, "http,https")
            try request.set(CURLOPT_FORBID_REUSE, 1)
            try request.set(CURLOPT_CONNECTTIMEOUT, timeouts.connect)
            try request.set(CURLOPT_LOW_SPEED_LIMIT, minimumSpeed)
            try request.set(CURLOPT_LOW_SPEED_TIME, timeouts.stall)
            try request.stop(when: isStopped)
        } catch { throw Failure(description: error.description) }
        request.keepBody(limit: limit)
        do { try request.perform() } catch {
            if request.isTooLarge {
                throw Failure(description: "the answer has more than \(limit) bytes", isTooLarge: true)
            }
            throw error.code == CURLE_ABORTED_BY_CALLBACK ? stop : Failure(description: error.description)
        }
        guard request.status == 200 else {
            throw Failure(description: "the phone answers with status \(request.status)")
        }
        return request.received
    }
}
