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
        switch try settings.value(options.store) {
        case .sqlite(let path):
            let options = try sqliteOptions(settings, logger: logger)
            return { try SQLiteStore(path: path, options: options, catalog: catalog) }
        case .clickHouse(var address):
            address.password = try options.storePassword.read(settings)
            var store = try clickHouseOptions(settings)
            // A cluster's collector continues with events when it has taken over a share.
            store.ownsDevices = try clusterShares(settings) == nil
            if store.ownsDevices {
                store.groups = Set(try settings.values(options.group) { try GroupID(validating: $0) })
            }
            store.retention.report = { logger.log(retention: $0) }
            store.reportMaintenanceProblem = { logger.warning("\($0)", metadata: ["error": "\($1)"]) }
            // Up to ten shares together make at most ten inserts a second into a table. With more, the delay of the
            // acknowledgements matters more.
            store.minInterval = min(max(store.minInterval, .milliseconds(100 * shares)), .seconds(1))
            return { [address, store] in try ClickHouseStore(address, options: store, catalog: catalog) }
        case nil:
            throw CommandFailure("no store specified: use --store sqlite:PATH")
        }
    }

    /// Returns what the collector does if another one with its id is running.
    func sessionClaim(_ settings: Settings, isMember: Bool) throws -> CollectorConfiguration.SessionClaim {
        let takesOver = try settings.isOn(options.takeOver)
        let isStandby = try settings.isOn(options.standby)
        guard !takesOver || !isStandby && !isMember else {
            throw CommandFailure(
                "--take-over is not for a standby or a cluster, which wait until the other collector is gone: leave it out"
            )
        }
        guard isStandby else { return takesOver ? .takeOver : .ifFree }
        guard case .sqlite(let path)? = try settings.value(options.store) else {
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

    private func sqliteOptions(_ settings: Settings, logger: Logger) throws -> SQLiteStore.Options {
        guard settings.place(of: options.quorum) == nil else {
            throw CommandFailure("--quorum is only for ClickHouse stores: leave it out")
        }
        var store = SQLiteStore.Options()
        try settings.assign(options.keepRejected, to: &store.rejectedLimit)
        try settings.assign(options.keepConflicts, to: &store.conflictLimit)
        try settings.assign(options.sync, to: &store.survivesPowerLoss)
        store.retention = try retention(settings)
        store.retention.report = { logger.log(retention: $0) }
        return store
    }

    /// Returns what leaves the store.
    private func retention(_ settings: Settings) throws -> Retention {
        let streams = settings.streams.streams.map(\.name)
        func pattern(_ text: String) throws -> StreamPattern { try StreamPattern(text, streams: streams) }
        var retention = Retention()
        func rules(_ setting: Setting<String>) throws -> KeepRules {
            try KeepRules(
                settings.values(setting) { text in
                    guard let equals = text.lastIndex(of: "=") else {
                        throw CommandFailure("'\(text)' is not a rule: use STREAM=AGE or GROUP/DEVICE/STREAM=AGE")
                    }
                    let age = String(text[text.index(after: equals)...])
                    return try (pattern(String(text[..<equals])), age == "forever" ? nil : keepAge(age))
                })
        }
        retention.rules = try rules(options.keep)
        retention.summaryRules = try rules(options.keepSummaries)
        retention.isConfirmed = try settings.isOn(options.confirmRetention)
        retention.maxSize = try settings.value(options.maxStore)
        retention.order = try settings.values(options.maxStoreOrder) { text in
            let found = try pattern(text)
            guard !found.isByDevice else { throw CommandFailure("'\(text)' is about a device: use a stream") }
            return found
        }
        return retention
    }

    private func keepAge(_ text: String) throws -> Int64 {
        let age = try parseDuration(text)
        guard age >= KeepRules.minAge else {
            throw CommandFailure("'\(text)' is shorter than an hour: use at least 1h")
        }
        return age
    }

    private func clickHouseOptions(_ settings: Settings) throws -> ClickHouseStore.Options {
        var store = ClickHouseStore.Options()
        guard settings.place(of: options.maxStore) == nil, settings.place(of: options.maxStoreOrder) == nil else {
            throw CommandFailure(
                "--max-store is only for SQLite stores: limit the disk of the ClickHouse server instead")
        }
        guard settings.place(of: options.keepSummaries) == nil else {
            throw CommandFailure(
                "--keep-summaries is only for SQLite stores: with ClickHouse, summaries of minutes leave with their samples"
            )
        }
        store.retention = try retention(settings)
        try settings.assign(options.keepRejected, to: &store.rejectedLimit)
        try settings.assign(options.keepConflicts, to: &store.conflictLimit)
        try settings.assign(options.sync, to: &store.survivesPowerLoss)
        store.quorum = try settings.value(options.quorum)
        return store
    }
}

extension Logger {
    /// Logs what has left a store, or has not.
    fileprivate func log(retention event: Retention.Event) {
        switch event {
        case .expired(let samples, let isForSpace):
            info("samples expired", metadata: ["samples": "\(samples)", "reason": isForSpace ? "max-store" : "keep"])
        case .refused(let refusal):
            warning(
                "more than half of a stream would expire at once, nothing was deleted",
                metadata: [
                    "stream": "\(refusal.stream)", "samples": "\(refusal.samples)",
                    "hint":
                        "check the rules of --keep and the clocks; if this is right, start once with --confirm-retention",
                ])
        case .tooSmall:
            error(
                "the store is larger than --max-store, though only the last hour of each stream is left",
                metadata: ["hint": "raise --max-store"])
        case .failed(let reason):
            warning("cannot delete samples, trying again", metadata: ["error": "\(reason)"])
        case .refinedLeftOut(let reason):
            warning("refined data cannot be read, samples expire without it", metadata: ["error": "\(reason)"])
        case .fillingUp(let time):
            warning(
                "the store will be full", metadata: ["at": "\(time)", "hint": "see docs/retention.md"])
        }
    }
}
