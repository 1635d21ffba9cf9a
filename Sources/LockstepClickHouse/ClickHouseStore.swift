import Glibc
public import LockstepModel
public import LockstepStore

/// A store in a ClickHouse database.
///
/// A commit sends one insert for each table and returns when the server has answered all of them. It is not atomic:
/// samples are inserted first, then the changes that make summaries of their minutes invalid, and batch numbers last, so
/// that a batch counts as received only when its samples are stored and no average omits them. After a failure, the same
/// samples may be inserted again, and ClickHouse merges equal rows.
public final class ClickHouseStore: SampleStore {
    /// The options for opening a store.
    public struct Options: Sendable {
        /// Whether each insert waits until its files are on the server's disk. Needs ClickHouse 20.10.
        public var survivesPowerLoss = true
        /// The number of replicas that must hold a row before it is acknowledged, or nil for tables without replicas.
        public var quorum: Quorum?
        /// The maximum number of conflicting samples that one run of the program stores. Further ones are only counted.
        public var conflictLimit = 100_000
        /// The maximum number of rejected messages that one run of the program stores.
        public var rejectedLimit = 10_000
        /// What leaves the store, and when. The server has no limit of size.
        public var retention = Retention()
        /// Receives what went wrong and the text of the error if old rejected messages cannot be deleted, or minutes not be
        /// summarised. The store works nevertheless.
        public var reportMaintenanceProblem: (@Sendable (_ message: String, _ error: String) -> Void)?
        /// The groups whose devices the collector has, or empty for all. Other collectors may store other devices in the
        /// same database.
        public var groups: Set<GroupID> = []
        /// Whether the store has its devices from the start. Otherwise it has none until they are taken over.
        public var ownsDevices = true
        /// The minimum time between two commits. Each commit creates a file for each table, which ClickHouse has to
        /// merge later.
        public var minInterval = Duration.milliseconds(200)
        /// The time for which nothing must have been stored in a minute before it is summarised for averages.
        public var averageDelay = Duration.seconds(60)
        /// Returns the time since boot in µs. Tests replace it.
        package var bootTime: @Sendable () -> Int64 = { Moment.now().boot }

        /// Creates the default options.
        public init() {}
    }

    /// The maximum age of the counters in `received_devices`.
    private static let deviceInterval = Duration.seconds(5)

    let options: Options
    let client: ClickHouseClient
    let streams: [SensorStream]
    /// One for each stream.
    let hashers: [SampleHasher]
    private let streamIndexes: [SensorStream: Int]
    /// All known devices.
    var devices: [DeviceRecord] = []
    var deviceIndexes: [DeviceAddress: Int] = [:]
    var addresses: [Int64: DeviceAddress] = [:]
    /// The devices whose batch numbers have been read.
    var loadedNumbers: Set<Int> = []
    var scopeKeys: [DeviceEpoch] = []
    var scopeNumbers: [DeviceEpoch: Int] = [:]
    var numbers: [BatchNumbers] = []
    /// The devices that this process has just added, by index.
    var recent: RecentDevices
    /// The numbers of the scopes of each device.
    var scopesByDevice: [DeviceAddress: [Int]] = [:]
    /// The time of the newest sample of each series that has been looked up; nil if there is no sample, see
    /// ``noSamplesSince``.
    var newest: [SeriesKey: Int64?] = [:]
    /// Of series for which ``newest`` is nil, the time from which the lookup has found no sample. Without a time, there is
    /// none at all.
    var noSamplesSince: [SeriesKey: Int64] = [:]
    /// The devices whose counters have changed since they were last written.
    var dirtyDevices: Set<Int> = []
    private var devicesWritten = ContinuousClock.now
    private var lastCommit: ContinuousClock.Instant?
    /// The deletion of samples by the rules.
    var expiry: SampleExpiry
    var lastVersion: UInt64 = 0
    /// The claim that the store writes for, or nil if no other collector writes about the same devices.
    var token: FencingToken?
    var storedConflicts = 0
    var storedRejections = 0
    var transaction = Transaction()
    /// Evaluates what the store writes, or nil.
    var observer: (any IngestObserver)?
    /// Whether the observer watches the stream with this index.
    var observed: [Bool]
    /// What people have deleted.
    var deletions: [DeletionRecord] = []
    /// The positions of those of each device.
    var deletionIndexes: [Int64: [Int]] = [:]
    /// The deletion that is under way, or nil.
    var deletion: DeletionProgress?
    /// What the store knows of rules and their events.
    var ledger = RuleLedger()
    /// The minutes that are to be summarised.
    var averages: AverageSchedule

    /// Opens the database at `address`, and creates its tables if they do not exist.
    /// - Throws: ``/LockstepStore/StoreError`` if the server does not answer or refuses the user, a newer program wrote the database,
    ///   or the server cannot sync inserts though the options ask for it.
    public init(
        _ address: ClickHouseAddress, options: Options = Options(), catalog: StreamCatalog = .builtIn
    ) throws(StoreError) {
        self.options = options
        averages = AverageSchedule(delay: options.averageDelay)
        recent = RecentDevices(now: options.bootTime)
        streams = catalog.streams
        hashers = catalog.streams.map(SampleHasher.init)
        observed = streams.map { _ in false }
        streamIndexes = Dictionary(uniqueKeysWithValues: streams.enumerated().map { ($1, $0) })
        // A collector that waits longer would lose its connection to the broker, and then its supervisor stops it.
        client = try ClickHouseClient(address, timeout: 20_000)
        client.silenceLimit = .seconds(5)
        let version = try ServerVersion(client)
        if options.survivesPowerLoss, !version.syncsInserts {
            throw StoreError(
                .other,
                "ClickHouse \(version) cannot wait until inserts are on the disk: use --sync normal, or ClickHouse 20.10 or newer"
            )
        }
        client.settings = version.settings
        let storage = ClickHouseSchema.StorageSettings(
            syncsInserts: options.survivesPowerLoss,
            replicatedDatabase: options.quorum == nil ? nil : address.database)
        let schema = ClickHouseSchema(storage: storage, streams: streams)
        if let quorum = options.quorum {
            client.insertSettings = try schema.updateReplicas(address, quorum, version).settings
            client.readsReplicas = true
        } else {
            guard address.servers.count == 1 else {
                throw StoreError(
                    .other, "several hosts are replicas of one database: add --quorum majority, or give one host")
            }
            try schema.createTables(client, database: address.database)
            try schema.update(client, database: address.database)
        }
        try schema.deleteOldRejections(client, at: Moment.now().wall) { error in
            options.reportMaintenanceProblem?("cannot delete old rejected messages", "\(error)")
        }
        expiry = try SampleExpiry(
            client: client, retention: options.retention, isForAllDevices: options.groups.isEmpty)
        // Whatever is known of other devices, their collectors write it, and delete what is to be deleted of them.
        if options.ownsDevices {
            for record in try DeviceRecord.read(client) where collects(record.address) { try register(record) }
        }
        while needsMaintenance { performMaintenance() }
        try readDeletions()
        for table in [
            "received_devices", "received_states", "received_reports", "received_rule_states", "received_deliveries",
            "received_deletions", "received_sessions", "received_session_devices", "received_markers",
        ] {
            let newest = try client.binary("SELECT max(version) FROM \(table)") { try $0.unsigned() }
            lastVersion = max(lastVersion, newest.first ?? 0)
        }
        if options.ownsDevices { try recoverRules(owning: collects) }
    }

    /// Adds a group to the current transaction.
    /// - Throws: ``/LockstepStore/StoreError``. All groups added since the last commit are then discarded.
    public func add(_ group: IngestGroup) throws(StoreError) {
        do {
            observer?.beginGroup(group)
            try load(group)
            try addDeletions(of: group)
            try addSamples(of: group)
            try addNumbers(of: group)
            try addDevices(of: group)
            try addReports(of: group)
            try addEvents(of: group)
            try observe(group)
        } catch {
            transaction = Transaction()
            observer?.didRollBack()
            throw error
        }
    }

    /// Commits all groups that were added since the last commit.
    /// - Throws: ``/LockstepStore/StoreError``. The groups are then discarded, though some of their rows may have been inserted.
    ///   If the observer's outcome was stored, it stays, with the transitions that led to it: see ``lifecycles()``.
    public func commit() throws(StoreError) -> IngestResult {
        let transaction = self.transaction
        self.transaction = Transaction()
        let outcome = observer?.takeOutcome() ?? ObservedOutcome()
        guard
            !transaction.isEmpty || !outcome.isEmpty || !ledger.openEvents.isEmpty
                || !ledger.openTransitions.isEmpty
        else {
            observer?.didCommit()
            return IngestResult()
        }
        waitForCommit()
        lastCommit = .now
        let due: Set<Int>
        let areCountersDue = ContinuousClock.now - devicesWritten >= Self.deviceInterval
        let changed = Set(transaction.devices.keys)
        var isConcluded = outcome.isEmpty
        var states = transaction.states
        let reopened = appendOpenTransitions(ledger.openTransitions, to: &states)
        do {
            try fenceNewDevices(of: transaction)
            if !isConcluded {
                try conclude(outcome, transaction)
                // From here on, the outcome stays, even if the rest of the transaction has to be repeated.
                isConcluded = true
                observer?.didCommit()
            }
            try removeOutdatedStates()
            try checkOwnership()
            // The order matters: see the description of the type.
            let samples = transaction.samples.sorted { $0.key < $1.key }.map(\.value)
            try client.insert(samples.filter { !$0.isEmpty }.map(TableInsert.init))
            try insertChanges(of: transaction)
            try insert(states, into: "received_states", StateColumns.names)
            try insert(transaction.rejected, into: "rejected", ["at", "topic", "reason", "size", "head"])
            try insert(transaction.clocks, into: "received_clocks", ClockColumns.names)
            try insertSessions(of: transaction)
            try insertOpenEvents()
            try insert(transaction.deliveries, into: "received_deliveries", ClickHouseSchema.deliveryColumns)
            try insert(transaction.acknowledgements, into: "received_acknowledgements", ["event_id", "at"])
            due =
                areCountersDue ? dirtyDevices.union(changed).union(reopened) : transaction.urgentDevices.union(reopened)
            try write(due.map { transaction.devices[$0] ?? devices[$0] })
            // After the samples that came before a request: 'lockstep archive' reads them when it sees the request.
            try write(transaction.deletions.values)
            try write(transaction.numbers)
        } catch {
            if !isConcluded || outcome.isEmpty { observer?.didRollBack() }
            // Some samples may be stored. They are looked up before the next ones are inserted.
            for key in transaction.series.keys { newest[key] = nil }
            throw error
        }
        if outcome.isEmpty { observer?.didCommit() }
        adopt(transaction)
        dirtyDevices.formUnion(changed)
        dirtyDevices.subtract(due)
        if areCountersDue { devicesWritten = .now }
        var result = result(of: transaction)
        result.deliveries = settleEvents(of: transaction)
        result.acknowledged = transaction.acknowledged
        return result
    }

    /// Returns the life-cycle snapshot of every device. A commit that failed may have changed them: what rules have concluded
    /// from a transition is final.
    public func lifecycles() -> [DeviceAddress: LifecycleSnapshot] {
        Dictionary(uniqueKeysWithValues: devices.map { ($0.address, $0.lifecycle) })
    }

    /// Whether old samples or those of a request have to be deleted, or minutes to be summarised.
    public var needsMaintenance: Bool {
        !devices.isEmpty && (expiry.isDue || isDeletionDue || averages.isDue(at: .now))
    }

    /// Searches for samples whose time is over, or deletes some; deletes what people have asked for; or summarises some
    /// minutes.
    public func performMaintenance() {
        // If this fails, it is tried again an hour later, and at the next start.
        if expiry.isDue {
            expiry.performPiece(devices, streams)
        } else if isDeletionDue {
            performDeletion()
        } else {
            performAverages()
        }
    }

    /// Writes the counters of all devices.
    public func close() {
        // If the servers cannot be reached, or this fails, the counters are as old as after a crash. To wait for servers that
        // cannot be reached would delay the next owner.
        guard !client.isCutOff else { return }
        try? write(dirtyDevices.map { devices[$0] })
        dirtyDevices = []
    }

    /// Adds a device to those known.
    /// - Returns: its index.
    @discardableResult
    func register(_ record: DeviceRecord) throws(StoreError) -> Int {
        if let other = addresses[record.id] {
            throw StoreError(
                .other, "the devices \(other) and \(record.address) have the same hash: rename one of them")
        }
        addresses[record.id] = record.address
        deviceIndexes[record.address] = devices.count
        devices.append(record)
        return devices.count - 1
    }

    /// Returns the index of a stream.
    func index(of stream: SensorStream) throws(StoreError) -> Int {
        guard let index = streamIndexes[stream] else {
            throw StoreError(.other, "the store has no table for the stream \(stream): open it with this stream")
        }
        return index
    }

    /// Returns a number that is higher than all earlier ones, also those of earlier runs.
    func nextVersion() -> UInt64 {
        // With a token, the clock does not matter.
        lastVersion = max(lastVersion + 1, token == nil ? UInt64(clamping: Moment.now().wall.microseconds) : 0)
        return lastVersion
    }

    func insert(_ rows: RowBinary, into table: String, _ columns: [String]) throws(StoreError) {
        guard !rows.isEmpty else { return }
        try client.insert(rows.bytes, into: table, columns: columns)
    }

    func write(_ records: [DeviceRecord]) throws(StoreError) {
        guard !records.isEmpty else { return }
        let version = nextVersion()
        var rows = RowBinary()
        for record in records { record.append(to: &rows, version: version) }
        try insert(rows, into: "received_devices", DeviceRecord.columns + ["version"])
    }

    private func write(_ changed: [Int: BatchNumbers]) throws(StoreError) {
        var received = RowBinary()
        var dropped = RowBinary()
        var reports = RowBinary()
        for (number, new) in changed.sorted(by: { $0.key < $1.key }) {
            let key = scopeKeys[number]
            let device = DeviceRecord.id(of: key.device)
            let old = numbers[number]
            func append(_ range: ClosedRange<Int64>, to rows: inout RowBinary) {
                rows.append(device)
                rows.append(key.epoch.rawValue)
                rows.append(range.lowerBound)
                rows.append(range.upperBound)
                rows.endRow()
            }
            for range in BatchNumbers.ranges(of: new.received, notIn: old.received) { append(range, to: &received) }
            for range in BatchNumbers.ranges(of: new.dropped, notIn: old.dropped) { append(range, to: &dropped) }
            if let report = new.report, report != old.report {
                EpochReportRows.append(report, of: device, key.epoch, version: nextVersion(), to: &reports)
            }
        }
        let columns = ["device_id", "epoch", "first", "last"]
        try insert(dropped, into: "received_dropped", columns)
        try insert(received, into: "received_batches", columns)
        try insert(reports, into: "received_reports", EpochReportRows.columns)
    }

    private func adopt(_ transaction: Transaction) {
        for (index, record) in transaction.devices { devices[index] = record }
        for (key, series) in transaction.series {
            newest[key] = series.newest
            noSamplesSince[key] = nil
        }
        for (number, set) in transaction.numbers { numbers[number] = set }
        adopt(transaction.deletions)
        scheduleAverages(of: transaction)
        storedConflicts += transaction.conflicts
        storedRejections += transaction.rejected.count
    }

    private func result(of transaction: Transaction) -> IngestResult {
        var result = IngestResult()
        result.counts = transaction.devices.keys.map { (devices[$0].address, transaction.counts[$0] ?? .init()) }
        result.scopes = transaction.numbers.map { number, set in
            IngestResult.Scope(key: scopeKeys[number], number: number, received: set.received.union(set.dropped))
        }
        return result
    }

    /// The time before which a commit waits: ``Options/minInterval`` after the last one.
    public var nextCommit: ContinuousClock.Instant? { lastCommit.map { $0 + options.minInterval } }

    /// Waits until ``nextCommit``.
    public func waitForCommit() {
        guard let nextCommit else { return }
        let rest = nextCommit - .now
        if rest > .zero { usleep(useconds_t(rest / .microseconds(1))) }
    }
}
