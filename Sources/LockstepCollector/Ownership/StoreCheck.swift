import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

/// Looks for another collector with the same id and another store. ``StoreCheckMachine`` decides.
///
/// It has a connection of its own: with the collector's own client id, the broker would end the connection of the other
/// collector.
struct StoreCheck {
    enum Outcome: Hashable {
        /// No collector with another store is running.
        case free
        /// The collector with this store is running.
        case taken(CollectorHealth.Store)
        /// Nothing is known, because the broker was not reached, does not answer, or does not allow this user to read the
        /// reports.
        case unknown(reason: String)
    }

    /// The maximum time to connect, so that a start does not take minutes.
    private static let connectLimit = Duration.seconds(60)
    /// The maximum time to wait for the answers to the subscriptions.
    private static let answerLimit = Duration.seconds(20)
    /// The number of connections that may be lost.
    private static let maxLosses = 3

    let configuration: CollectorConfiguration
    let store: CollectorHealth.Store
    let logger: Logger
    /// Whether the collector had a connection before.
    let isReconnecting: Bool
    /// Whether the broker could not be reached since then.
    let wasUnreachable: Bool
    /// Whether the store has no devices.
    let isStoreNew: Bool

    /// Runs the check. In most cases it connects and waits for a round trip; it waits up to 30 s more if the broker has the
    /// report of a collector with another store.
    /// - Parameter isStopping: returns whether to give up; called about ten times a second.
    func run(until isStopping: () -> Bool) -> Outcome {
        var machine = StoreCheckMachine(
            store: store, healthInterval: configuration.healthInterval, isReconnecting: isReconnecting,
            wasUnreachable: wasUnreachable)
        let link = configuration.broker.link(
            clientID: MQTTOptions.clientID(
                "collector", configuration.id.rawValue, "check", "\(UInt32.random(in: .min ... .max))"),
            wakeup: Wakeup(), node: configuration.node)
        // A collector with this id and other groups uses the same session, but reports on another topic. The user of this one
        // may not be allowed to read there.
        let allTopics = configuration.root.filter(collector: configuration.id)
        var filter = allTopics
        let session = BrokerSession(link, qos: .atMostOnce, awaitsRetained: true, filters: { [filter] }) { message in
            guard let health = try? CollectorHealth.decode(Data(message.payload)) else { return }
            machine.received(
                health, on: message.topic, isRetained: message.isRetained, at: Moment.now().boot)
        }
        defer { session.close() }
        let nodes = configuration.broker.address.nodes.count
        let connectLimit = min(Self.connectLimit, BrokerLink.attemptLimit(nodes: nodes) * nodes)
        var deadline = ContinuousClock.now + connectLimit
        var attempts = nodes
        var losses = 0
        var version = link.version
        var problem = "no connection to the broker in time"
        /// Whether the broker has sent the retained reports.
        var isReady = false
        var hasLoggedCandidate = false
        while !isStopping(), isReady || .now < deadline {
            var events = session.next(until: .now + .milliseconds(100))
            while !events.isEmpty {
                switch events.removeFirst() {
                case .connected:
                    version = link.version
                    deadline = max(deadline, .now + Self.answerLimit)
                    problem = "the broker does not answer a subscription"
                case .ready:
                    isReady = true
                    machine.subscribed(at: Moment.now().boot)
                case .denied where filter == allTopics:
                    filter = configuration.healthTopic
                    events += session.subscribe()
                case .denied:
                    return .unknown(
                        reason: "the broker does not allow this user to read the reports of collectors: "
                            + "allow it to read '\(allTopics)'")
                case .interrupted(.silence, wasConnected: false):
                    // A busy broker may still answer.
                    problem = "\(MQTTError.silence)"
                case .interrupted(let error, wasConnected: false):
                    problem = "\(error)"
                    if error.code == .unreachable { machine.unreachable() }
                    // The link asks the same node again with MQTT 3.1.1.
                    if version == .three || link.version == .five { attempts -= 1 }
                    version = link.version
                    if attempts <= 0 { return .unknown(reason: problem) }
                case .interrupted(let error, wasConnected: true):
                    losses += 1
                    if losses == Self.maxLosses { return .unknown(reason: "\(error)") }
                    machine.disconnected()
                    (isReady, filter) = (false, allTopics)
                    problem = "\(error)"
                    attempts = nodes
                    deadline = max(deadline, .now + connectLimit)
                case .published: break
                }
            }
            _ = session.send()
            if !hasLoggedCandidate, let candidate = machine.candidate {
                hasLoggedCandidate = true
                logger.log(
                    level: isReconnecting ? .debug : .info,
                    "checking whether another collector with this id is running",
                    metadata: ["host": "\(candidate.host.plain)", "store": "\(candidate.name.plain)"])
            }
            switch machine.decision(at: Moment.now().boot) {
            case .wait: break
            case .connect:
                if machine.hasReplacedStore(isNew: isStoreNew) {
                    logger.warning(
                        "this store is new, but another one was here when the collector last ran",
                        metadata: [
                            "store": "\(store.name.plain)",
                            "hint":
                                "if its disk is not mounted, stop the collector, mount the disk, and start it again",
                        ])
                }
                return .free
            case .stayAway(let other): return .taken(other)
            }
        }
        return .unknown(reason: problem)
    }
}

/// The error of a collector that would take away the samples of another one.
struct OtherStoreError: Error, Hashable, CustomStringConvertible {
    let id: CollectorID
    let other: CollectorHealth.Store
    let own: CollectorHealth.Store

    /// The reason and what to do.
    var description: String {
        "a collector with the id '\(id)' is running on \(other.host.plain) and stores into \(other.name.plain), another "
            + "store than \(own.name == other.name && own.host == other.host ? "the new " : "")\(own.name): each of the "
            + "two would get only a part of the samples. Stop that collector, or give this one its own id with --id, or "
            + "let this one replace it with --take-over."
    }
}

extension String {
    /// A text of the network without control characters, which could control the terminal, and of limited length.
    var plain: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }.prefix(300)))
    }
}
