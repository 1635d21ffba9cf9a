import LockstepStore
import Synchronization

/// Requests and results of other threads for the collector's loop.
final class RuleMailbox: Sendable {
    struct Content {
        var reloadsRules = false
        /// The results of attempts to deliver.
        var updates: [DeliveryUpdate] = []
    }

    private let content = Mutex(Content())

    func withLock<Result>(_ body: (inout sending Content) -> Result) -> Result { content.withLock { body(&$0) } }

    func take() -> Content {
        content.withLock { content in
            defer { content = Content() }
            return content
        }
    }
}
