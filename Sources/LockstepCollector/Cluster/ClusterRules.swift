import LockstepRules
import Synchronization

/// The rules of all shares of a collector: those that were last read without an error. Shares that are claimed while the
/// file is faulty have the old rules.
final class ClusterRules: Sendable {
    private let load: @Sendable () throws -> RuleSet
    private let rules = Mutex<RuleSet?>(nil)

    init(_ load: @escaping @Sendable () throws -> RuleSet) { self.load = load }

    /// Returns the rules.
    func current() throws -> RuleSet {
        if let rules = rules.withLock({ $0 }) { return rules }
        return try reload()
    }

    /// Reads the rules again.
    @discardableResult
    func reload() throws -> RuleSet {
        let new = try load()
        rules.withLock { $0 = new }
        return new
    }
}
