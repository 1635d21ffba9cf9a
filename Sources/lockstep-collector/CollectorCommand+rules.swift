import LockstepClickHouse
import LockstepCollector
import LockstepCommandLine
import LockstepModel
import LockstepRules

extension CollectorCommand {
    /// Sets the rules of a collector. A faulty file is refused at the start, too.
    func setRules(_ configuration: inout CollectorConfiguration, _ settings: Settings) throws {
        guard let file = try settings.value(options.rules) else { return }
        let streams = settings.streams
        var load: @Sendable () throws -> RuleSet = { try readRules(file, streams: streams) }
        switch try settings.value(options.store) {
        case .sqlite(let path): configuration.storeFolder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        case .clickHouse:
            load = { [load] in
                let rules = try load()
                try checkForServer(rules)
                return rules
            }
        case nil: break
        }
        _ = try load()
        configuration.loadRules = load
    }
}

/// Refuses rules that a collector with a store on a server cannot evaluate.
private func checkForServer(_ rules: RuleSet) throws {
    for rule in rules.rules {
        if case .health(.disk) = rule.condition {
            throw CommandFailure(
                "the rule '\(rule.name)' is about the disk of the store, but a ClickHouse store is on its server: remove "
                    + "the rule, and check the disk of the server there")
        }
    }
}
