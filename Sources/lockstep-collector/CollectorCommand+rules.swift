import LockstepClickHouse
import LockstepCollector
import LockstepCommandLine
import LockstepModel
import LockstepRuleFiles

extension CollectorCommand {
    /// Sets the rules of a collector. A faulty file is refused at the start, too.
    func setRules(_ configuration: inout CollectorConfiguration, _ settings: Settings) throws {
        guard let file = try settings.value("rules", rules, parse: { $0 }) else { return }
        // Events are committed together with samples, which needs transactions.
        guard case .sqlite(let path) = try settings.value("store", store, parse: { try StoreAddress($0) }) else {
            throw CommandFailure("rules need an SQLite store: use --store sqlite:PATH, or leave out --rules")
        }
        configuration.storeFolder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let streams = settings.streams
        _ = try readRules(file, streams: streams)
        configuration.loadRules = { try readRules(file, streams: streams) }
    }
}
