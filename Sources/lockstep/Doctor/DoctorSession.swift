import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepSystem
import LockstepWire

/// Collects observations from a broker for a limited time.
final class DoctorSession {
    private let link: BrokerLink
    private let root: TopicRoot
    /// The id of the subscription to all topics.
    private var subscription: Int32?
    /// The id of the message that tests the access rights.
    private var probe: Int32?
    private var observations: Observations
    private var connectedAt: ContinuousClock.Instant?
    /// The deadline for the first connection.
    private var connectDeadline = ContinuousClock.now + .seconds(10)
    /// Whether connecting failed with an error that retrying cannot resolve.
    private var isRefused = false

    init(link: BrokerLink, broker: BrokerAddress, root: TopicRoot) {
        self.link = link
        self.root = root
        observations = Observations(broker: broker)
        link.onMessage = { [unowned self] message in
            self.observations.record(
                topic: message.topic, payload: Data(message.payload), contentType: message.contentType,
                isRetained: message.isRetained, root: self.root,
                at: Moment.now().wall)
        }
    }

    /// Observes for `seconds` after connecting. Gives up connecting after ten seconds, or two seconds after an error.
    func run(seconds: Double, _ interrupt: Interrupt) throws -> Observations {
        var progress = ProgressLine()
        defer { progress.end() }
        while !interrupt.isSet, !isRefused {
            let end = connectedAt.map { $0 + .seconds(seconds) } ?? connectDeadline
            let now = ContinuousClock.now
            if now >= end { break }
            progress.show(Self.line(isConnected: connectedAt != nil, left: end - now))
            // Again soon, so that the line shows the time that is left.
            link.wait(until: progress.isShown ? min(end, now + .milliseconds(200)) : end)
            for event in link.read(limit: 1000) + link.write() { try handle(event) }
        }
        link.stop(until: .now + .seconds(1))
        observations.seconds = connectedAt.map { (ContinuousClock.now - $0) / .seconds(1) } ?? 0
        return observations
    }

    /// Returns the line of progress: `listening for 5 s more`.
    static func line(isConnected: Bool, left: Duration) -> String {
        isConnected ? "listening for \(Int((left / .seconds(1)).rounded(.up))) s more" : "connecting to the broker"
    }

    private func handle(_ event: BrokerLink.Event) throws {
        switch event {
        case .connected(let version, _):
            connectedAt = connectedAt ?? .now
            observations.version = version
            observations.isRetainAvailable = link.isRetainAvailable
            observations.maxInFlight = link.maxInFlight
            observations.unansweredAddresses += link.takeUnansweredAddresses()
            subscription = try link.subscribe(to: root.filter(group: nil), qos: .atMostOnce)
            try link.subscribe(to: Observations.softwareTopic, qos: .atMostOnce)
        case .failed(let error, _), .disconnected(let error, _):
            observations.failure = error
            if connectedAt != nil { observations.losses += 1 }
            if connectedAt == nil { connectDeadline = min(connectDeadline, .now + .seconds(2)) }
            if error.isPermanent { isRefused = true }
        case .subscribed(let id, let isGranted):
            guard id == subscription else { break }
            guard isGranted else {
                observations.canRead = false
                return
            }
            // Publish only now: before the subscription is granted, the echo would be missed. A reconnect needs no
            // second message.
            guard probe == nil else { return }
            probe = try link.publish(MQTTMessage(topic: Observations.probeTopic(root), payload: []))
        case .published(let id, let refusal):
            // With MQTT 3.1.1, brokers also acknowledge messages that they discard, so only the echo proves write
            // access.
            if id == probe, observations.version == .five { observations.canWriteAsDevice = refusal == nil }
        }
    }
}
