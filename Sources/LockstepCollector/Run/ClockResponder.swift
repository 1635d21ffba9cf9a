import Dispatch
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

/// Answers the time requests of agents, on a thread and a connection of its own.
///
/// On the collector's connection, an answer would wait for the commit: nothing is sent before it. Here it is sent at
/// once, whatever the store does.
final class ClockResponder: Sendable {
    /// The maximum number of packets that are read before the answers are sent.
    private static let maxReads = 32
    /// The interval at which the discipline of the wall clock is read.
    private static let disciplineInterval = Duration.seconds(5)

    private let configuration: CollectorConfiguration
    private let logger: Logger
    private let thread = LoopThread("lockstep.collector.clock", qos: .userInteractive)

    init(_ configuration: CollectorConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    func start() { thread.start { [self] in run() } }

    /// Stops, and waits for the end of the connection.
    func stop() { thread.finish() }

    private func run() {
        let configuration = configuration
        let link = configuration.broker.link(
            clientID: configuration.share?.clockClientID
                ?? MQTTOptions.clientID("collector", configuration.id.rawValue, "clock"),
            wakeup: thread.wakeup, node: configuration.share.map { _ in configuration.node })
        var requests: [(ping: ClockPing, address: DeviceAddress, received: Int64)] = []
        let groups: [GroupID?] = configuration.groups.isEmpty ? [nil] : configuration.groups
        let filters = groups.map { configuration.root.filter(group: $0, channel: .clockPing) }
        // The collector's own connection reports problems of the broker.
        let session = BrokerSession(link, qos: .atMostOnce, filters: { filters }) { message in
            let received = ClockReading.raw()
            // Anyone may send requests, so unreadable ones are ignored.
            guard !message.isRetained, message.payload.count <= 256,
                case .device(let address, .clockPing) = try? configuration.root.parse(message.topic),
                let ping = try? ClockJSON.decodePing(message.payload)
            else { return }
            requests.append((ping, address, received))
        }
        defer { session.close() }
        let boot = BootIdentity.current()
        var discipline = KernelDiscipline.now()
        var disciplineReadAt = ContinuousClock.now
        while !thread.isStopping {
            _ = session.next(until: .now + .seconds(1), limit: Self.maxReads)
            if !requests.isEmpty {
                if ContinuousClock.now - disciplineReadAt >= Self.disciplineInterval {
                    discipline = .now()
                    disciplineReadAt = .now
                }
                let reading = ClockReading.now()
                for request in requests {
                    let pong = ClockPong(
                        number: request.ping.number, collector: configuration.id, boot: boot,
                        received: request.received, sent: ClockReading.raw(), shift: reading.wall - reading.raw,
                        maxError: discipline.flatMap { $0.isSynchronised ? $0.maxError : nil })
                    publish(pong, to: request.address, link)
                }
                requests.removeAll(keepingCapacity: true)
            }
            _ = session.send()
        }
    }

    private func publish(_ pong: ClockPong, to device: DeviceAddress, _ link: BrokerLink) {
        do {
            try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(device, .clockPong), payload: ClockJSON.encode(pong),
                    qos: .atMostOnce))
        } catch {
            logger.error("publishing failed", metadata: ["channel": "clock/pong", "error": "\(error)"])
        }
    }
}
