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
        /// The age is only known for batches written since the machine last started and its clock was last set. Other
        /// batches are limited by size alone, so that a wrong clock does not cause drops.
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
    public private(set) var epoch: Epoch
    /// The epoch before the current one, or nil for the first epoch of an outbox.
    public private(set) var previousEpoch: Epoch?
    /// The number of the next batch.
    private(set) var nextSeq: Int64
    /// The size of all payloads in bytes.
    public internal(set) var bytes: Int64
    /// The batches of the current epoch that were never published.
    var unpublished = UnpublishedBatches()
    /// The number of samples dropped since the file was created.
    public private(set) var droppedSamples: Int64
    /// Whether the clock was set since the last run, so that a new epoch was started.
    public let wasClockSet: Bool
    /// The highest `id` of the batches whose age is unknown.
    private var lastUndatedID: Int64

    private let lock: FileLock
    let database: SQLiteDatabase
    /// The space that is released when the disk is full.
    let reservedSpace: ReservedSpace
    /// Returns whether the disk has free space in addition to the reserved space. Tests replace it.
    var hasDiskSpace: () -> Bool
    let statements: OutboxStatements
    private let limits: Limits
    private let keepsJournal: Bool
    /// The encoding of new batches. Batches in the outbox keep theirs.
    private let encoding: BatchEncoding

    /// Opens the outbox, or creates it with a new epoch.
    ///
    /// If the clock was set since the last run, a new epoch is started.
    /// - Parameters:
    ///   - path: the path of the file. Its folder must exist.
    ///   - limits: the limits above which the oldest batches are dropped.
    ///   - encoding: the encoding of new batches. Batches in the outbox keep theirs.
    ///   - keepsJournal: whether to keep every accepted batch in the table `journal`, to verify a store.
    ///   - streams: the streams that batches can belong to.
    ///   - clock: the current state of the clocks.
    /// - Throws: ``OutboxError`` if the file cannot be opened or another agent uses it.
    public init(
        path: String, limits: Limits = Limits(), encoding: BatchEncoding = .json, keepsJournal: Bool = false,
        streams: StreamCatalog = .builtIn, clock: OutboxClock = .now()
    ) throws {
        do {
            lock = try FileLock(path: path)
            database = try OutboxSchema.open(path)
            let reservedSpace = ReservedSpace(path: path + "-ballast")
            self.reservedSpace = reservedSpace
            hasDiskSpace = { reservedSpace.hasDiskSpace }
            // The write-ahead log has to fit into the reserved space.
            let pages = max(16, min(256, reservedSpace.size / 4 / 4096))
            try database.execute("PRAGMA wal_autocheckpoint = \(reservedSpace.size > 0 ? pages : 256)")
            self.limits = limits
            self.encoding = encoding
            self.keepsJournal = keepsJournal
            statements = try OutboxStatements(database, streams: streams)
            bytes = try database.integer("SELECT ifnull(sum(length(payload)), 0) FROM batches")
            droppedSamples = try database.integer(
                "SELECT ifnull(max(value), 0) FROM meta WHERE key = 'dropped_samples'")
            nextSeq = 1 + (try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = 'seq'"))
            let change = clock.change(since: try statements.lastClock(), newest: try statements.newestTime())
            let savedEpoch = try database.text("SELECT max(value) FROM meta WHERE key = 'epoch'")
            wasClockSet = savedEpoch != nil && change == .wasSet
            lastUndatedID = try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = 'undated'")
            if let savedEpoch { epoch = try Epoch(validating: savedEpoch) } else { epoch = .random() }
            // The commit that saved the set may also have dropped some of its batches. Exclude them: the collector
            // acknowledges dropped batches, too, so their acknowledgement does not contradict this outbox.
            let pending = try statements.numbers(in: "batches")[epoch] ?? SequenceSet()
            unpublished = UnpublishedBatches(saved: try statements.unpublished().intersection(pending))
            previousEpoch = try database.text("SELECT max(value) FROM meta WHERE key = 'previous_epoch'")
                .map { try Epoch(validating: $0) }
            try database.transaction {
                try statements.setMeta("epoch", epoch.rawValue)
                try statements.setClock(clock)
                if change == .restarted { lastUndatedID = try statements.forgetTimes() }
            }
            if wasClockSet { try startEpoch(clock: clock) }
        } catch {
            throw OutboxError(path: path, error)
        }
    }

    /// Numbers, encodes and writes new batches, and removes acknowledged ones, in one durable transaction.
    /// - Parameters:
    ///   - blocks: the samples of the new batches, one block for each batch.
    ///   - removed: the acknowledged batches.
    ///   - now: the current time.
    /// - Returns: the batches that were written, and those dropped because of the limits.
    /// - Throws: ``OutboxError``. The outbox is unchanged in this case.
    public func commit(
        appending blocks: [SampleBlock], removing removed: [Epoch: SequenceSet] = [:], at now: Timestamp
    ) throws -> (entries: [Entry], dropped: Dropped) {
        let entries = blocks.enumerated().map { index, block in
            let position = BatchPosition(epoch: epoch, seq: nextSeq + Int64(index))
            let payload = encoding.encode(Batch(position: position, samples: block))
            return Entry(position: position, stream: block.stream, payload: payload)
        }
        var newBytes = bytes
        var dropped = Dropped()
        do {
            try database.transaction {
                for (epoch, batches) in removed {
                    for range in batches.ranges { newBytes -= try statements.delete(epoch, range) }
                }
                for (entry, block) in zip(entries, blocks) {
                    try statements.insert(entry, samples: block.count, at: now)
                    if keepsJournal { try statements.insertIntoJournal(entry) }
                    newBytes += Int64(entry.payload.count)
                }
                dropped = try enforceLimits(bytes: limits.bytes, newBytes: &newBytes, now: now)
                if let last = entries.last { try statements.setMeta("seq", last.position.seq) }
                if dropped.samples > 0 { try statements.setMeta("dropped_samples", droppedSamples + dropped.samples) }
                if unpublished.isUnsaved { try statements.setUnpublished(unpublished.toSave) }
            }
        } catch {
            throw OutboxError(path: database.path, error)
        }
        bytes = newBytes
        nextSeq += Int64(entries.count)
        droppedSamples += dropped.samples
        unpublished.didSave()
        for entry in entries { unpublished.batches.insert(entry.position.seq) }
        unpublished.batches.subtract(dropped.batches[epoch] ?? SequenceSet())
        return (entries.filter { dropped.batches[$0.position.epoch]?.contains($0.position.seq) != true }, dropped)
    }

    /// Drops the oldest batches until at most `limit` bytes are left.
    func shrink(to limit: Int64, at now: Timestamp) throws -> Dropped {
        var newBytes = bytes
        let dropped = try database.transaction {
            let dropped = try enforceLimits(bytes: limit, newBytes: &newBytes, now: now)
            try statements.setMeta("dropped_samples", droppedSamples + dropped.samples)
            return dropped
        }
        bytes = newBytes
        droppedSamples += dropped.samples
        unpublished.batches.subtract(dropped.batches[epoch] ?? SequenceSet())
        return dropped
    }

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
    /// - Throws: ``OutboxError``.
    public func pending() throws -> [Epoch: SequenceSet] {
        do { return try statements.numbers(in: "batches") } catch { throw OutboxError(path: database.path, error) }
    }

    /// Returns the numbers of all dropped batches of the current epoch.
    /// - Throws: ``OutboxError``.
    public func droppedBatches() throws -> SequenceSet { try allDroppedBatches()[epoch] ?? SequenceSet() }

    /// Returns the numbers of all dropped batches.
    /// - Throws: ``OutboxError``.
    public func allDroppedBatches() throws -> [Epoch: SequenceSet] {
        do { return try statements.droppedRanges() } catch { throw OutboxError(path: database.path, error) }
    }

    /// Returns a batch, or nil if it is no longer in the outbox.
    /// - Throws: ``OutboxError``.
    public func entry(at position: BatchPosition) throws -> Entry? {
        do { return try statements.entry(at: position) } catch { throw OutboxError(path: database.path, error) }
    }

    /// Starts a new epoch, whose numbers start at 1, because the clock was set.
    /// - Parameter clock: the current state of the clocks.
    /// - Throws: ``OutboxError``. The outbox is unchanged in this case.
    public func startEpoch(clock: OutboxClock = .now()) throws {
        let next = Epoch.random()
        do {
            lastUndatedID = try database.transaction {
                try statements.beginEpoch(next, after: epoch, seq: 0)
                try statements.setClock(clock)
                return try statements.forgetTimes()
            }
        } catch {
            throw OutboxError(path: database.path, error)
        }
        didStartEpoch(next, seq: 0)
    }

    /// Updates the state after a new epoch was written.
    /// - Parameter seq: the highest number in the new epoch.
    func didStartEpoch(_ next: Epoch, seq: Int64) {
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
            let last = try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = 'session'")
            let session = max(now.microseconds, last + 1)
            try database.transaction { try statements.setMeta("session", session) }
            return session
        } catch {
            throw OutboxError(path: database.path, error)
        }
    }

    private func isTooOld(_ batch: OutboxStatements.Oldest, now: Timestamp) -> Bool {
        batch.id > lastUndatedID && now.microseconds - batch.createdAt > limits.age
    }

    /// Drops the oldest batches above the limits.
    /// - Parameter newBytes: the size of all payloads in bytes, which is updated.
    private func enforceLimits(bytes limit: Int64, newBytes: inout Int64, now: Timestamp) throws -> Dropped {
        var dropped = Dropped()
        while let oldest = try statements.oldest(), newBytes > limit || isTooOld(oldest, now: now) {
            try statements.drop(oldest)
            if newBytes <= limit { dropped.agedSamples += oldest.samples }
            newBytes -= oldest.bytes
            dropped.batches[oldest.position.epoch, default: SequenceSet()].insert(oldest.position.seq)
            dropped.samples += oldest.samples
        }
        return dropped
    }
}
