import FoundationEssentials
import LockstepClickHouse
import LockstepCollector
import LockstepCommandLine
import LockstepModel
import LockstepStore
import Logging

extension CollectorCommand {
    /// Returns a function that opens the store of the settings.
    /// - Parameter shares: the number of collectors, or shares of a cluster, that write to a ClickHouse store.
    func storeFactory(
        _ settings: Settings, shares: Int, logger: Logger
    ) throws -> @Sendable () throws -> sending any SampleStore {
        let catalog = settings.streams
        switch try settings.value("store", store, parse: { try StoreAddress($0) }) {
        case .sqlite(let path):
            let options = try sqliteOptions(settings)
            return { try SQLiteStore(path: path, options: options, catalog: catalog) }
        case .clickHouse(var address):
            address.password = try StorePassword.read(storePasswordFile, settings)
            var options = try clickHouseOptions(settings)
            // A cluster's collector continues with events when it has taken over a share.
            options.recoversRules = try clusterShares(settings) == nil
            if options.recoversRules {
                options.groups = Set(try settings.values("group", group) { try GroupID(validating: $0) })
            }
            options.reportMaintenanceProblem = { logger.warning("\($0)", metadata: ["error": "\($1)"]) }
            // Up to ten shares together make at most ten inserts a second into a table. With more, the delay of the
            // acknowledgements matters more.
            options.minInterval = min(max(options.minInterval, .milliseconds(100 * shares)), .seconds(1))
            return { [address, options] in try ClickHouseStore(address, options: options, catalog: catalog) }
        case nil:
            throw CommandFailure("no store specified: use --store sqlite:PATH")
        }
    }

    /// Returns what the collector does if another one with its id is running.
    func sessionClaim(_ settings: Settings, isMember: Bool) throws -> CollectorConfiguration.SessionClaim {
        let takesOver = try settings.value("take-over", takeOver ? "true" : nil, parse: { try boolean($0) }) ?? false
        let isStandby = try settings.value("standby", standby ? "true" : nil, parse: { try boolean($0) }) ?? false
        guard !takesOver || !isStandby && !isMember else {
            throw CommandFailure(
                "--take-over is not for a standby or a cluster, which wait until the other collector is gone: leave it out"
            )
        }
        guard isStandby else { return takesOver ? .takeOver : .ifFree }
        guard case .sqlite(let path)? = try settings.value("store", store, parse: { try StoreAddress($0) }) else {
            throw CommandFailure(
                "--standby is for an SQLite store: collectors that share a ClickHouse store use --cluster instead")
        }
        return .standby {
            guard FileManager.default.fileExists(atPath: path) else {
                return
                    "the store '\(path)' does not exist here: mount its disk, or finish its replication; to create a "
                    + "new store, start the collector once without --standby"
            }
            return FileManager.default.isReadableFile(atPath: path)
                ? nil : "the store '\(path)' cannot be read: allow the collector's user to read and write it"
        }
    }

    private func sqliteOptions(_ settings: Settings) throws -> SQLiteStore.Options {
        guard try settings.value("keep-samples", keepSamples, parse: { $0 }) == nil else {
            throw CommandFailure("--keep-samples is only for ClickHouse stores: leave it out")
        }
        guard try settings.value("quorum", quorum, parse: { $0 }) == nil else {
            throw CommandFailure("--quorum is only for ClickHouse stores: leave it out")
        }
        var options = SQLiteStore.Options()
        if let limit = try rowLimit("keep-rejected", keepRejected, settings) { options.rejectedLimit = limit }
        if let limit = try rowLimit("keep-conflicts", keepConflicts, settings) { options.conflictLimit = limit }
        options.survivesPowerLoss = try survivesPowerLoss(settings)
        return options
    }

    private func clickHouseOptions(_ settings: Settings) throws -> ClickHouseStore.Options {
        var options = ClickHouseStore.Options()
        options.sampleAge = try settings.value("keep-samples", keepSamples) { text in
            let age = try parseDuration(text)
            guard age >= 86_400_000_000 else {
                throw CommandFailure("'\(text)' is shorter than a day: use at least 1d")
            }
            return age
        }
        if let limit = try rowLimit("keep-rejected", keepRejected, settings) { options.rejectedLimit = limit }
        if let limit = try rowLimit("keep-conflicts", keepConflicts, settings) { options.conflictLimit = limit }
        options.survivesPowerLoss = try survivesPowerLoss(settings)
        options.quorum = try clickHouseQuorum(settings)
        return options
    }

    private func clickHouseQuorum(_ settings: Settings) throws -> Quorum? {
        try settings.value("quorum", quorum) { text in
            guard let quorum = Quorum(text) else {
                throw CommandFailure("'\(text)' is not a quorum: use majority, or a number of replicas from 1 to 9")
            }
            return quorum
        }
    }

    private func rowLimit(_ name: String, _ value: String?, _ settings: Settings) throws -> Int? {
        try settings.value(name, value) { try wholeNumber($0, in: 0...100_000_000) }
    }

    private func survivesPowerLoss(_ settings: Settings) throws -> Bool {
        try settings.value("sync", sync) { text in
            guard ["normal", "full"].contains(text) else {
                throw CommandFailure("'\(text)' is not a sync mode: use full or normal")
            }
            return text == "full"
        } ?? true
    }
}
