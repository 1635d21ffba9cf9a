import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSupervision
import LockstepWire
import Logging

/// What the collector counts, and what it says of its own health.
final class HealthReport {
    /// What is counted of all devices.
    struct Fleet {
        let devices: Int
        /// Samples that agents had to drop.
        let droppedSamples: Int64
    }

    private let configuration: CollectorConfiguration
    private let logger: Logger
    private let started = Moment.now().wall
    private var stored = 0
    private var duplicates = 0
    private var conflicts = 0
    private var rejected = 0
    private var problem: String?
    /// Whether the broker knows of the problem, or will as soon as the connection is lost.
    private(set) var hasSaidStalled = false
    private var saidAt: Int64 = 0
    /// Rejections told one by one in the present minute.
    private var told = 0
    private var toldSince: Int64 = 0

    init(configuration: CollectorConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    var isStalled: Bool { problem != nil }
    var status: CollectorHealth.Status { isStalled ? .stalled : .online }

    func connectionOptions(version: MQTTVersion) -> MQTTOptions {
        // While stalled the connection is given up over and over: its will must not hide the reason.
        let will = CollectorHealth(status: isStalled ? .stalled : .offline, at: Moment.now().wall, problem: problem)
        hasSaidStalled = isStalled
        return MQTTOptions(
            address: configuration.broker, clientID: "lockstep-collector-\(configuration.id)", keepsSession: true,
            keepAlive: configuration.keepAlive, will: message(will), version: version,
            receiveMaximum: configuration.receiveMaximum, tls: configuration.tls)
    }

    /// What a transaction took in, and rejected, is on disk.
    func count(_ result: IngestResult, rejected messages: [RejectedMessage]) {
        if problem != nil {
            problem = nil
            saidAt = 0
            logger.info("the store can be written again")
        }
        for counts in result.devices.values {
            stored += counts.stored
            duplicates += counts.duplicates
            conflicts += counts.conflicts
        }
        rejected += messages.count
        for message in messages { tell(message) }
    }

    /// The store can't be written: nothing is acknowledged until it can.
    func stall(_ problem: String) {
        if self.problem != problem {
            logger.error("\(problem); nothing is acknowledged until it can be written again")
        }
        self.problem = problem
    }

    func publishIfDue(counting fleet: @autoclosure () -> Fleet, over link: BrokerLink, at moment: Moment) {
        guard moment.boot - saidAt >= configuration.healthInterval else { return }
        publish(status, counting: fleet(), over: link, at: moment)
    }

    func publish(_ status: CollectorHealth.Status, counting fleet: Fleet, over link: BrokerLink, at moment: Moment) {
        let memory = ProcessMemory.now()
        let health = CollectorHealth(
            status: status, at: moment.wall, problem: problem, devices: fleet.devices, stored: stored,
            duplicates: duplicates, conflicts: conflicts, rejected: rejected, dropped: fleet.droppedSamples,
            version: configuration.version, started: started, memory: memory?.current, memoryPeak: memory?.peak)
        do {
            if try link.publish(message(health)) != nil { saidAt = moment.boot }
        } catch {
            logger.error("the collector's health can't be published: \(error)")
        }
    }

    private func tell(_ message: RejectedMessage) {
        if message.at.microseconds - toldSince >= 60_000_000 {
            if told > 10 { logger.warning("\(told - 10) more messages were rejected: see the table 'rejected'") }
            told = 0
            toldSince = message.at.microseconds
        }
        told += 1
        if told <= 10 { logger.warning("rejected a message on \(message.topic.prefix(200)): \(message.reason)") }
    }

    private func message(_ health: CollectorHealth) -> MQTTMessage {
        MQTTMessage(
            topic: configuration.root.topic(
                group: configuration.groups.first ?? .standard, collector: configuration.id),
            payload: health.encoded(), isRetained: true)
    }
}
