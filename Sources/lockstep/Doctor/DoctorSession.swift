import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// Listens to a broker for a while.
final class DoctorSession {
    private let link: BrokerLink
    private let root: TopicRoot
    /// The subscription without which there is little to hear.
    private var subscription: Int32?
    /// The message that only one device may publish.
    private var probe: Int32?
    private var observations: Observations
    private var began: ContinuousClock.Instant?
    /// When it gives up on a broker that is not there.
    private var patience = ContinuousClock.now + .seconds(10)
    private var isRefused = false

    init(link: BrokerLink, broker: BrokerAddress, root: TopicRoot) {
        self.link = link
        self.root = root
        observations = Observations(broker: broker)
        link.onMessage = { [unowned self] message in
            self.observations.hear(
                topic: message.topic, payload: Data(message.payload), contentType: message.contentType,
                isRetained: message.isRetained, root: self.root,
                at: Moment.now().wall)
        }
    }

    /// Listens for `seconds` once the broker is there, for which it has ten; two, where it is refused.
    func run(seconds: Double, _ interrupt: Interrupt) throws -> Observations {
        while !interrupt.hasCome, !isRefused {
            let end = began.map { $0 + .seconds(seconds) } ?? patience
            if ContinuousClock.now >= end { break }
            link.wait(until: end)
            for event in link.read(limit: 1000) + link.write() { try handle(event) }
        }
        link.stop(until: .now + .seconds(1))
        observations.seconds = began.map { (ContinuousClock.now - $0) / .seconds(1) } ?? 0
        return observations
    }

    private func handle(_ event: BrokerLink.Event) throws {
        switch event {
        case .connected(let version, _):
            began = began ?? .now
            observations.version = version
            subscription = try link.subscribe(to: root.filter(group: nil), qos: .atMostOnce)
            try link.subscribe(to: Observations.softwareTopic, qos: .atMostOnce)
        case .failed(let error, _), .disconnected(let error, _):
            observations.failure = error
            if began == nil { patience = min(patience, .now + .seconds(2)) }
            switch error.code {
            case .badCredentials, .notAuthorized, .tls, .invalid: isRefused = true
            default: break
            }
        case .subscribed(let id, let isGranted):
            guard id == subscription else { break }
            guard isGranted else {
                observations.mayRead = false
                return
            }
            // Only now would it be heard.
            guard probe == nil else { return }
            probe = try link.publish(MQTTMessage(topic: Observations.probeTopic(root), payload: []))
        case .published(let id, let refusal):
            // A broker of MQTT 3.1.1 confirms what it throws away; there the echo tells.
            if id == probe, refusal == nil, observations.version == .five { observations.wroteAsDevice = true }
        }
    }
}

/// Free bytes and bytes in all of the file system that holds `path`; nil where there is none.
func diskSpace(at path: String) -> (free: Int64, size: Int64)? {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    let block = Int64(status.f_frsize)
    return (Int64(status.f_bavail) * block, Int64(status.f_blocks) * block)
}
