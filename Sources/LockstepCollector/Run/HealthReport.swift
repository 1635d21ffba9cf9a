import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

/// Counts what the collector stored and rejected, and publishes its health.
final class HealthReport {
    /// Totals over all devices.
    struct Fleet {
        let devices: Int
        let droppedSamples: Int64
    }

    /// The maximum number of rejected messages that are logged in a minute.
    private static let maxLoggedRejections = 10

    private let configuration: CollectorConfiguration
    /// The published description of the store, or nil for none.
    let store: CollectorHealth.Store?
    private let logger: Logger
    private let started = Moment.now().wall
    /// Returns the size of the store, or nil while the store is busy or if it is on a server.
    var readSpace: () -> StoreSpace? = { nil }
    var readRules: () -> ReportedRules = { ReportedRules() }
    private var space: StoreSpace?
    private var certificates: CertificateWatch
    private var stored = 0
    private var duplicates = 0
    private var conflicts = 0
    private var rejected = 0
    /// The reason why the store cannot be written, or nil if it is writable.
    private var problem: String?
    /// Whether the last will of the connection says that the collector is offline.
    private(set) var willSaysOffline = true
    /// The time of the last published health, in µs of the boot clock.
    private var publishedAt: Int64 = 0
    /// The number of messages rejected since `minuteStart`.
    private var minuteRejections = 0
    /// The start of the current minute, in µs since 1970.
    private var minuteStart: Int64 = 0

    init(configuration: CollectorConfiguration, store: CollectorHealth.Store? = nil, logger: Logger) {
        self.configuration = configuration
        self.store = store
        self.logger = logger
        certificates = CertificateWatch(tls: configuration.broker.tls)
    }

    /// Whether the store cannot be written.
    var isStalled: Bool { problem != nil }
    var status: CollectorHealth.Status { isStalled ? .stalled : .online }

    /// Returns whether a report may be of this run of the collector. A last will names no start.
    func isOwn(_ health: CollectorHealth) -> Bool { health.started == nil || health.started == started }

    /// Returns the options of a connection, with the current health in the last will.
    func connectionOptions(version: MQTTVersion) -> MQTTOptions {
        // While the store is stalled, the collector repeatedly drops its connection. The last will must not
        // replace the reason with 'offline'.
        willSaysOffline = !isStalled
        let will = CollectorHealth(
            status: isStalled ? .stalled : .offline, at: Moment.now().wall, problem: problem,
            store: isStalled ? store : nil, groups: configuration.reportedGroups)
        var options = configuration.broker.options(
            clientID: configuration.share?.clientID ?? MQTTOptions.clientID("collector", configuration.id.rawValue),
            version: version, keepsSession: true, will: message(will))
        options.receiveMaximum = configuration.receiveMaximum
        options.peerTimeout = configuration.share?.peerTimeout
        return options
    }

    /// Counts a committed transaction, and logs its rejected messages.
    /// - Parameter unstored: the number of further rejected messages, which were not stored.
    func count(_ result: IngestResult, rejected messages: [RejectedMessage], unstored: Int = 0) {
        if problem != nil {
            problem = nil
            publishedAt = 0
            logger.info("store writable again")
        }
        for (_, counts) in result.counts {
            stored += counts.stored
            duplicates += counts.duplicates
            conflicts += counts.conflicts
        }
        rejected += messages.count + unstored
        for message in messages { log(message) }
    }

    /// Records why the store cannot be written. Nothing is acknowledged until it is writable again.
    func stall(_ problem: String) {
        if self.problem != problem {
            logger.error("store not writable, acknowledgements suspended", metadata: ["error": "\(problem)"])
        }
        self.problem = problem
    }

    /// Publishes the health if the interval has passed since the last time.
    func publishIfDue(counting fleet: @autoclosure () -> Fleet, over link: BrokerLink, at moment: Moment) {
        guard moment.boot - publishedAt >= configuration.healthInterval else { return }
        publish(status, counting: fleet(), over: link, at: moment)
    }

    func publish(_ status: CollectorHealth.Status, counting fleet: Fleet, over link: BrokerLink, at moment: Moment) {
        let memory = ProcessMemory.now()
        space = readSpace() ?? space
        logger.report(certificates.update(broker: link.certificateExpiry, at: moment.wall.microseconds))
        let times = certificates.times
        let rules = readRules()
        let health = CollectorHealth(
            status: status, at: moment.wall, problem: problem, devices: fleet.devices, stored: stored,
            duplicates: duplicates, conflicts: conflicts, rejected: rejected, dropped: fleet.droppedSamples,
            version: configuration.version, started: started, memory: memory?.current, memoryPeak: memory?.peak,
            store: store, groups: configuration.reportedGroups,
            certificates: times.isEmpty ? nil : times,
            space: space.map(CollectorHealth.Space.init), rules: rules.streams, places: rules.places)
        do {
            if try link.publish(message(health)) != nil { publishedAt = moment.boot }
        } catch {
            logger.error("publishing failed", metadata: ["channel": "health", "error": "\(error)"])
        }
    }

    /// Deletes the retained health.
    func clear(over link: BrokerLink) {
        let message = MQTTMessage(topic: configuration.healthTopic, payload: [], isRetained: true)
        do { try link.publish(message) } catch {
            logger.error("publishing failed", metadata: ["channel": "health", "error": "\(error)"])
        }
    }

    private func log(_ message: RejectedMessage) {
        // The clock may have been set back.
        if abs(message.at.microseconds - minuteStart) >= 60_000_000 {
            if minuteRejections > Self.maxLoggedRejections {
                logger.warning(
                    "more messages rejected",
                    metadata: [
                        "messages": "\(minuteRejections - Self.maxLoggedRejections)",
                        "hint": "see the table 'rejected' of the store",
                    ])
            }
            minuteRejections = 0
            minuteStart = message.at.microseconds
        }
        minuteRejections += 1
        guard minuteRejections <= Self.maxLoggedRejections else { return }
        logger.warning(
            "message rejected", metadata: ["topic": "\(message.topic.prefix(200))", "reason": "\(message.reason)"])
    }

    private func message(_ health: CollectorHealth) -> MQTTMessage {
        MQTTMessage(topic: configuration.healthTopic, payload: health.encoded(), isRetained: true)
    }
}

extension CollectorHealth.Space {
    init(_ space: StoreSpace) {
        self.init(
            file: Int(space.file), log: Int(space.log), free: Int(space.free), limit: space.limit.map { Int($0) },
            fullAt: space.fullAt, expired: space.expired, late: space.late, refused: space.refusals.map(\.stream),
            reader: space.reader.map { Int($0.process) }, readerAge: space.reader.map { Int($0.age / 1_000_000) })
    }
}

/// Publishes a report of a collector that has no connection, under a client id of its own and without a session.
///
/// A collector that stops while its store cannot be written is offline, although its last will said that it is stalled. Over
/// the session, it would receive messages that it cannot store. A collector that replaces another one reports its store
/// before it takes over the session.
struct SeparateReport {
    let configuration: CollectorConfiguration
    let report: HealthReport
    let fleet: HealthReport.Fleet

    /// Publishes the status, and waits until the broker has it or the deadline is reached.
    /// - Parameter replacesOther: whether the report may replace that of another collector with this id.
    /// - Returns: whether the broker has a report of this collector, or of another one that it does not replace.
    func publish(
        _ status: CollectorHealth.Status, replacesOther: Bool, until deadline: ContinuousClock.Instant
    ) -> Bool {
        let configuration = configuration
        let report = report
        var exchange = Exchange()
        let link = configuration.broker.link(
            clientID: MQTTOptions.clientID(
                "collector", configuration.id.rawValue, "report", "\(UInt32.random(in: .min ... .max))"),
            wakeup: Wakeup(), node: configuration.node)
        // Whoever may replace the report of another one need not read it.
        let filters = replacesOther ? [] : [configuration.healthTopic]
        let session = BrokerSession(link, qos: .atMostOnce, awaitsRetained: true, filters: { filters }) { message in
            guard let health = try? CollectorHealth.decode(Data(message.payload)) else { return }
            exchange.isReplaced = !report.isOwn(health)
        }
        defer { session.close(until: deadline) }
        while .now < deadline {
            for event in session.next(until: deadline) + session.send() {
                switch exchange.handle(event) {
                case .wait: break
                case .publish: report.publish(status, counting: fleet, over: link, at: .now())
                case .end(let isReported): return isReported
                }
            }
        }
        return false
    }

    /// The decisions, without I/O: events of the session in, actions out.
    struct Exchange {
        enum Action: Equatable {
            case wait
            case publish
            /// - Parameter isReported: whether the broker has a report of this collector, or of another one that took over.
            case end(isReported: Bool)
        }

        /// Whether the retained report is of another collector.
        var isReplaced = false

        func handle(_ event: BrokerSession.Event) -> Action {
            switch event {
            case .ready: isReplaced ? .end(isReported: true) : .publish
            // The report could replace that of another collector, which cannot be read.
            case .denied: .end(isReported: false)
            case .published(_, let refusal): .end(isReported: refusal == nil)
            case .connected, .interrupted: .wait
            }
        }
    }
}
