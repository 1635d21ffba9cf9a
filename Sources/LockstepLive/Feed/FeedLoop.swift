import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

/// The loop of a ``LiveFeed``: it reads messages, and lets the live picture advance. One thread owns it.
final class FeedLoop {
    private let configuration: FeedConfiguration
    private let session: BrokerSession
    private let picture: LivePicture
    private let requests: RequestClient
    private let logger: Logger
    private let report: (LiveFeed.Status) -> Void
    private var status = LiveFeed.Status.initial
    private var certificates: CertificateWatch
    /// The time of the next check of the certificates, in µs of the boot clock.
    private var nextCertificateCheck: Int64 = 0
    /// The time of the next ``LivePicture/advance(to:)``, in µs of the boot clock.
    private var nextAdvance: Int64 = 0

    init(
        _ configuration: FeedConfiguration, wakeup: Wakeup, picture: LivePicture, requests: RequestClient,
        logger: Logger, report: @escaping (LiveFeed.Status) -> Void
    ) {
        self.configuration = configuration
        certificates = CertificateWatch(tls: configuration.tls, serverFile: configuration.serverCertificateFile)
        self.picture = picture
        self.requests = requests
        self.logger = logger
        self.report = report
        let link = configuration.link(wakeup: wakeup, clientID: configuration.clientID)
        let filter = configuration.root.filter(group: nil)
        session = BrokerSession(link, qos: .atMostOnce, filters: { [filter] })
        link.onMessage = { [unowned self] message in self.handle(message) }
    }

    /// Waits for messages, a deadline or a signal, and handles what has happened.
    func turn() {
        let now = Moment.now().boot
        let deadline = min(nextAdvance, requests.nextDeadline ?? .max)
        let wait = Duration.microseconds(max(0, min(deadline - now, 1_000_000)))
        for event in session.next(until: .now + wait) { handle(event) }
        let moment = Moment.now()
        requests.advance(to: moment.boot) { message throws(MQTTError) in
            status.isConnected ? try session.link.publish(message) : nil
        }
        for event in session.send() { handle(event) }
        nextAdvance = picture.advance(to: moment, connectionProblem: status.problem)
        if moment.boot >= nextCertificateCheck { checkCertificates(at: moment) }
    }

    /// Logs certificates that expire soon, and reports when each one does.
    private func checkCertificates(at moment: Moment) {
        nextCertificateCheck = moment.boot + 3_600_000_000
        logger.report(certificates.update(broker: session.link.certificateExpiry, at: moment.wall.microseconds))
        status.certificates = certificates.times
        report(status)
    }

    func stop() { session.close() }

    private func handle(_ message: IncomingMessage) {
        let change = picture.handle(
            topic: message.topic, payload: message.payload, contentType: message.contentType, at: .now())
        switch change {
        case .reply(let device): requests.handle(Data(message.payload), from: device)
        case .acknowledged(let confirmation): requests.handle(confirmation)
        case .unreadable(let topic, let reason):
            logger.debug("message unreadable", metadata: ["topic": "\(topic)", "error": "\(reason)"])
        case .collector(let group, let id, let health, isNews: true):
            logger.info(
                "collector reported",
                metadata: ["collector": "\(group)/\(id)", "status": "\(health.status.rawValue)"])
        case .forgotten(let device): logger.info("device forgotten", metadata: ["device": "\(device)"])
        case .collectorForgotten(let group, let id):
            logger.info("collector forgotten", metadata: ["collector": "\(group)/\(id)"])
        case .state, .presence, .samples, .collector, .event, .session, nil: break
        }
    }

    func handle(_ event: BrokerSession.Event) {
        switch event {
        case .connected:
            nextCertificateCheck = 0
            picture.didConnect()
        case .ready:
            set(.init(isConnected: true))
            requests.didConnect()
        case .published(let id, let refusal): requests.didPublish(id, refusal: refusal)
        case .denied(_, let error), .interrupted(let error, _): set(.init(problem: error.description))
        }
    }

    private func set(_ new: LiveFeed.Status) {
        var new = new
        new.certificates = status.certificates
        guard new != status else { return }
        status = new
        report(new)
        if let problem = new.problem {
            requests.didDisconnect(problem)
            logger.warning(
                "broker not connected", metadata: ["broker": "\(configuration.broker)", "error": "\(problem)"])
        } else {
            logger.info("broker connected", metadata: ["broker": "\(configuration.broker)"])
        }
    }
}
