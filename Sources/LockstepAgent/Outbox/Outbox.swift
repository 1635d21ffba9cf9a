public import LockstepModel
import LockstepSQLite
public import LockstepWire

/// The agent's durable queue of batches that are not acknowledged yet, in an SQLite file.
///
/// A batch gets its number in the transaction that writes it: numbers have no gaps and survive a restart. Use it from
/// one thread only.
public final class Outbox {
    /// The limits above which the oldest batches are dropped.
    public struct Limits: Sendable, Hashable {
        /// The maximum size of all payloads in bytes.
        public var bytes: Int64
        /// The maximum age of a batch in µs.
        ///
        /// The age is measured on the boot clock, so that a wrong clock does not cause drops. It is only known for batches
        /// written since the machine last started. Other batches are limited by size alone.
        public var age: Int64

        /// Creates limits. The defaults are 256 MiB and seven days.
        public init(bytes: Int64 = 256 << 20, age: Int64 = 7 * 86_400_000_000) {
            self.bytes = bytes
            self.age = age
        }
    }

    /// A batch with its encoded payload.
    public struct Entry: Sendable {
        /// The epoch and number of the batch.
        public let position: BatchPosition
        /// The stream of its samples.
        public let stream: SensorStream
        /// The encoded batch.
        public let payload: [UInt8]
    }

    /// The batches dropped because of the limits.
    public struct Dropped: Sendable, Hashable {
        /// The numbers of the batches.
        public var batches: [Epoch: SequenceSet] = [:]
        /// The number of samples in them.
        public var samples: Int64 = 0
        /// The number of samples dropped because of their age.
        public var agedSamples: Int64 = 0
    }

    /// The current epoch, to which new batches belong.
    public internal(set) var epoch: Epoch
    /// The epoch before the current one, or nil for the first epoch of an outbox.
    public internal(set) var previousEpoch: Epoch?
    /// The size of all payloads in bytes.
    public internal(set) var bytes: Int64
    /// The number of samples dropped since the file was created.
    public internal(set) var droppedSamples: Int64
    /// Whether the clock was set since the last run, so that a new epoch was started.
    public let wasClockSet: Bool
    /// The time of the newest sample of the last run, if the clock was earlier at the start. Then a new epoch was started.
    public let newestBeforeStart: Timestamp?
    /// The device that the outbox belonged to before, if it was handed over to another one with this start.
    public let previousDevice: String?

    /// The number of the next batch.
    var nextSeq: Int64
    /// The batches of the current epoch that were never published.
    var unpublished = UnpublishedBatches()
    /// The ids of the batches of each epoch.
    var ids: BatchIDs
    /// The rows in the file.
    var contents: OutboxContents
    /// The highest `id` of the batches whose age is unknown: those of earlier boots of the machine.
    var lastUndatedID: Int64
    /// The time of the newest sample of each stream in the current epoch, in µs since 1970. It is known even if the
    /// outbox is empty.
    var newest: [String: Int64]

    /// The open file.
    let file: OutboxFile
    var database: SQLiteDatabase { file.database }
    /// What was done since the last call of ``takeRestoration()``, because the file was removed or moved.
    private var restoration: OutboxFile.Restoration?
    /// The space that is released when the disk is full.
    let reservedSpace: ReservedSpace
    /// Returns whether the disk has free space in addition to the reserved space. Tests replace it.
    var hasDiskSpace: () -> Bool
    private(set) var statements: OutboxStatements
    private let streams: StreamCatalog
    let limits: Limits
    /// Whether new batches are part of the journal.
    let keepsJournal: Bool
    /// Whether the file has batches of the journal.
    let hasJournal: Bool
    /// The encoding of new batches. Batches in the outbox keep theirs.
    let encoding: BatchEncoding

    /// Opens the outbox, or creates it with a new epoch.
    ///
    /// If the clock was set since the last run, or is earlier than the samples of the last run, a new epoch is started.
    /// - Parameters:
    ///   - path: the path of the file. Its folder must exist.
    ///   - device: the device whose samples the outbox holds. The outbox records it, see ``OutboxOwner``. nil for any.
    ///   - limits: the limits above which the oldest batches are dropped.
    ///   - encoding: the encoding of new batches. Batches in the outbox keep theirs.
    ///   - keepsJournal: whether to keep every accepted batch in the file, to verify a store.
    ///   - streams: the streams that batches can belong to.
    ///   - clock: the current state of the clocks.
    /// - Throws: ``OutboxError`` if the file cannot be opened, if another agent uses it, or if it holds batches of
    ///   another device.
    public init(
        path: String, device: DeviceAddress? = nil, limits: Limits = Limits(), encoding: BatchEncoding = .json,
        keepsJournal: Bool = false,
        streams: StreamCatalog = .builtIn, clock: OutboxClock = .now()
    ) throws {
        do {
            file = try OutboxFile(path: path) { try OutboxSchema.open($0) }
            let database = file.database
            let reservedSpace = ReservedSpace(path: file.path + "-ballast")
            self.reservedSpace = reservedSpace
            hasDiskSpace = { reservedSpace.hasDiskSpace }
            try Self.limitLog(of: database, reservedSpace)
            self.streams = streams
            self.limits = limits
            self.encoding = encoding
            self.keepsJournal = keepsJournal
            statements = try OutboxStatements(database, streams: streams)
            hasJournal = try keepsJournal || statements.hasJournal()
            (contents, bytes) = try statements.contents()
            let owner = try OutboxOwner(
                recorded: statements.text(OutboxOwner.key), pending: contents.pending.count,
                hasJournal: statements.hasJournal())
            previousDevice = try device.flatMap { try owner.previous(for: $0) }
            droppedSamples = try statements.meta("dropped_samples")
            let savedEpoch = try statements.text("epoch")
            epoch = try savedEpoch.map { try Epoch(validating: $0) } ?? .random()
            previousEpoch = try statements.text("previous_epoch").map { try Epoch(validating: $0) }
            lastUndatedID = try statements.meta("undated")
            ids = try statements.ids()
            if savedEpoch == nil { ids.begin(epoch, base: 0) }
            let base = ids.base(of: epoch) ?? 0
            newest = try statements.newestTimes(since: base)
            let lastClock = try statements.lastClock()
            let change = clock.change(since: lastClock, newest: newest.values.max())
            wasClockSet = savedEpoch != nil && change == .wasSet
            newestBeforeStart = change == .isEarlier ? newest.values.max().map { Timestamp(microseconds: $0) } : nil
            nextSeq = try statements.nextSeq(base: base)
            // The commit that saved the set may also have dropped some of its batches. Exclude them: the collector
            // acknowledges dropped batches, too, so their acknowledgement does not contradict this outbox.
            let pending = ids.numbers(of: contents.pending)[epoch] ?? SequenceSet()
            unpublished = UnpublishedBatches(saved: try statements.unpublished().intersection(pending))
            try database.transaction {
                try statements.setMeta("epoch", epoch.rawValue)
                try statements.setEpoch(epoch, base: base)
                try statements.removeUnusedEpochs(before: base)
                try statements.setClock(clock)
                if let device, previousDevice == nil {
                    try statements.setMeta(OutboxOwner.key, "\(device)")
                }
                if !clock.isSameBoot(as: lastClock) {
                    lastUndatedID = lastID
                    try statements.setMeta("undated", lastUndatedID)
                }
            }
            if let device, previousDevice != nil {
                try handOver(to: device, clock: clock)
            } else if wasClockSet || newestBeforeStart != nil {
                try startEpoch(clock: clock)
            }
            file.hasSameContent = { [unowned self] in try hasSameContent($0) }
        } catch {
            throw OutboxError(path: path, error)
        }
    }

    /// Limits the write-ahead log, which has to fit into the reserved space.
    private static func limitLog(of database: SQLiteDatabase, _ reservedSpace: ReservedSpace) throws {
        let size = reservedSpace.size > 0 ? max(1 << 16, min(1 << 20, reservedSpace.size / 4)) : 1 << 20
        let pageSize = try database.integer("PRAGMA page_size")
        try database.execute("PRAGMA wal_autocheckpoint = \(size / pageSize)")
    }

    /// Writes the file again if it was removed or moved, see ``OutboxFile``. Call it before each write that must last.
    func restoreFile() throws {
        if let done = try file.restore() { restoration = done }
        // They are prepared in a later call if that failed.
        guard statements.database !== database else { return }
        try Self.limitLog(of: database, reservedSpace)
        statements = try OutboxStatements(database, streams: streams)
    }

    private func hasSameContent(_ database: SQLiteDatabase) throws -> Bool {
        let other = try OutboxStatements(database, streams: streams)
        let pending = try other.contents().0.pending
        return try other.text("epoch") == epoch.rawValue && contents.pending.subtracting(pending).isEmpty
            && other.nextSeq(base: ids.base(of: epoch) ?? 0) == nextSeq
    }

    /// Returns what was done since the last call, because the file was removed or moved.
    func takeRestoration() -> OutboxFile.Restoration? { restoration.take() }

    /// The number of the newest batch of the current epoch, or 0.
    var lastSeq: Int64 { nextSeq - 1 }

    /// The highest id given so far.
    var lastID: Int64 { (ids.base(of: epoch) ?? 0) + nextSeq - 1 }

    /// Limits the file to its current size while the disk is full, so that it does not grow into the reserved space.
    func limitFile() {
        // While the disk has space, the limit is far above any real number of pages.
        let limit = hasDiskSpace() ? 0x3fff_fffe : (try? database.integer("PRAGMA page_count")) ?? 0
        try? database.execute("PRAGMA max_page_count = \(limit)")
    }

    /// Copies the write-ahead log into the file. Errors are ignored: a reader or a full disk may prevent the copy.
    func checkpoint(truncate: Bool = false) { _ = try? database.checkpoint(truncate: truncate) }

    var path: String { database.path }

    /// Returns the numbers of all batches in the outbox.
    public func pending() -> [Epoch: SequenceSet] { ids.numbers(of: contents.pending) }

    /// Returns the numbers of all dropped batches of the current epoch.
    /// - Throws: ``OutboxError``.
    public func droppedBatches() throws -> SequenceSet { try allDroppedBatches()[epoch] ?? SequenceSet() }

    /// Returns the numbers of all dropped batches.
    /// - Throws: ``OutboxError``.
    public func allDroppedBatches() throws -> [Epoch: SequenceSet] {
        do { return try statements.droppedRanges() } catch { throw OutboxError(path: path, error) }
    }

    /// Returns a batch, or nil if it is no longer in the outbox.
    /// - Throws: ``OutboxError``.
    public func entry(at position: BatchPosition) throws -> Entry? {
        guard let id = ids.id(of: position), contents.pending.contains(id) else { return nil }
        do { return try statements.entry(id, at: position) } catch { throw OutboxError(path: path, error) }
    }

    /// Starts a new epoch, whose numbers start at 1, because the clock was set.
    /// - Parameter clock: the current state of the clocks.
    /// - Throws: ``OutboxError``. The outbox is unchanged in this case.
    public func startEpoch(clock: OutboxClock = .now()) throws {
        let next = Epoch.random()
        do {
            try restoreFile()
            try database.transaction {
                try statements.beginEpoch(next, base: lastID, after: epoch, seq: 0)
                try statements.setClock(clock)
                try statements.removeNewestTimes()
            }
        } catch {
            throw OutboxError(path: path, error)
        }
        didStartEpoch(next, seq: 0)
        newest = [:]
    }

    /// Updates the state after a new epoch was written.
    /// - Parameter seq: the highest number in the new epoch.
    func didStartEpoch(_ next: Epoch, seq: Int64) {
        ids.begin(next, base: lastID)
        previousEpoch = epoch
        epoch = next
        nextSeq = seq + 1
        unpublished = UnpublishedBatches()
    }

    /// Returns the number of a new session: the current time in µs since 1970, but always higher than the previous
    /// number.
    /// - Parameter now: the current time.
    /// - Throws: ``OutboxError``.
    public func startSession(at now: Timestamp) throws -> Int64 {
        do {
            try restoreFile()
            let last = try statements.meta("session")
            let session = max(now.microseconds, last + 1)
            try database.transaction { try statements.setMeta("session", session) }
            return session
        } catch {
            throw OutboxError(path: path, error)
        }
    }
}
