import LockstepMQTT
import LockstepModel
import LockstepWire
import Synchronization

/// What the gateway's loop shares with other threads: a queue of their requests, such as those of an HTTP server, and what
/// it knows of the senders of Sparkplug.
final class GatewayInbox: Sendable {
    /// What a thread hands over.
    enum Content: Sendable {
        /// A message that the gateway has to translate.
        case message(ForeignMessage)
        case translation(TranslatedMessage)
    }

    /// A request whose sender waits for the outcome.
    struct Item: Sendable {
        let content: Content
        /// Called once with the outcome, on the gateway's thread.
        let reply: @Sendable (RequestOutcome) -> Void
    }

    private struct State {
        var items: [Item] = []
        var isStopping = false
    }

    private let state = Mutex(State())
    private let sparkplugFigures = Mutex<GatewayHealth.Sparkplug?>(nil)
    private let sparkplugSenders = Mutex<[ForeignName]?>(nil)
    private let logins = Atomic<Int>(0)
    private let wakeup: Wakeup

    init(wakeup: Wakeup) { self.wakeup = wakeup }

    /// The last figures of the host application of Sparkplug, or nil if there is none.
    var sparkplug: GatewayHealth.Sparkplug? {
        get { sparkplugFigures.withLock { $0 } }
        set { sparkplugFigures.withLock { $0 = newValue } }
    }

    /// The nodes and devices of Sparkplug that were present when the gateway last ran; nil until the outbox is open.
    var earlierSparkplugSenders: [ForeignName]? {
        get { sparkplugSenders.withLock { $0 } }
        set { sparkplugSenders.withLock { $0 = newValue } }
    }

    /// The number of requests with a refused login since the start.
    var refusedLogins: Int { logins.load(ordering: .relaxed) }

    func countRefusedLogin() { logins.add(1, ordering: .relaxed) }

    /// Adds a request. After the stop it is answered at once.
    func post(_ item: Item) {
        let isAccepted = state.withLock { state in
            guard !state.isStopping else { return false }
            state.items.append(item)
            return true
        }
        if isAccepted { wakeup.signal() } else { item.reply(.unavailable) }
    }

    /// Removes and returns all requests.
    func drain() -> [Item] {
        state.withLock { state in
            defer { state.items = [] }
            return state.items
        }
    }

    var isEmpty: Bool { state.withLock { $0.items.isEmpty } }

    /// Whether the loop must end.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Ends the loop.
    func stop() {
        state.withLock { $0.isStopping = true }
        wakeup.signal()
    }
}
