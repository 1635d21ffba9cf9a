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
            try link.subscribe(to: root.filter(group: nil), qos: .atMostOnce)
            try link.subscribe(to: Observations.softwareTopic, qos: .atMostOnce)
        case .failed(let error, _), .disconnected(let error, _):
            observations.failure = error
            if began == nil { patience = min(patience, .now + .seconds(2)) }
            switch error.code {
            case .badCredentials, .notAuthorized, .tls, .invalid: isRefused = true
            default: break
            }
        case .published, .subscribed: break
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
