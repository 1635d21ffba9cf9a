public import LockstepModel
import LockstepSQLite
public import LockstepWire

/// The agent's durable queue of batches that are not yet known to be stored, in an SQLite file of its own.
///
/// A batch gets its number here, in the transaction that writes it: numbers have no gaps and survive a restart. Belongs
/// to one thread.
public final class Outbox {
    public struct Limits: Sendable, Hashable {
        /// Bytes of payload; beyond it the oldest batches are dropped.
        public var bytes: Int64
        /// µs for which a batch is kept. Age counts only as long as the clock is known to run on: for the batches that
        /// were written since the machine was started and since its clock was last set. An older one leaves by size
        /// alone, so that a wrong clock drops nothing, neither when it is set nor over a restart.
        public var age: Int64

        /// By default 256 MiB and seven days.
        public init(bytes: Int64 = 256 << 20, age: Int64 = 7 * 86_400_000_000) {
            self.bytes = bytes
            self.age = age
        }
    }

    /// A batch with its encoded payload.
    public struct Entry: Sendable {
        public let position: BatchPosition
        public let stream: SensorStream
        public let payload: [UInt8]
    }

    /// What the limits made the outbox drop.
    public struct Dropped: Sendable, Hashable {
        public var batches: [Epoch: SequenceSet] = [:]
        public var samples: Int64 = 0
        /// Of them, how many for their age.
        public var agedSamples: Int64 = 0
    }

    public private(set) var epoch: Epoch
    /// The epoch that ended when this one began; nil for the first of an outbox.
    public private(set) var previousEpoch: Epoch?
    private(set) var nextSeq: Int64
    /// Bytes of payload held.
    public internal(set) var bytes: Int64
    /// Which batches of the present epoch no broker was ever given.
    var unpublished = UnpublishedBatches()
    /// Samples dropped since the file was made.
    public private(set) var droppedSamples: Int64
    /// Whether the clock was found to have been set since the last run, and so a new epoch begun.
    public let foundClockSet: Bool
    /// Up to this `id` the age of a batch is not known.
    private var undated: Int64

    private let lock: FileLock
    let database: SQLiteDatabase
    /// Room for the day when the disk is full.
    let ballast: Ballast
    /// Whether the disk has room, the ballast aside.
    var diskHasRoom: () -> Bool
    let statements: OutboxStatements
    private let limits: Limits
    private let keepsJournal: Bool
    /// How new batches are written; those that are held stay as they are.
    private let encoding: BatchEncoding

    /// Opens the outbox, or makes it with a new epoch.
    ///
    /// A new epoch also begins where the clock was set since the last run.
    /// - Parameters:
    ///   - encoding: how new batches are written; older ones may be in another.
    ///   - keepsJournal: keep every batch ever accepted in the table `journal`, to prove a store against it.
    ///   - streams: the streams that batches can belong to.
    ///   - clock: the machine's clocks at present.
    /// - Throws: ``OutboxError``.
    public init(
        path: String, limits: Limits = Limits(), encoding: BatchEncoding = .json, keepsJournal: Bool = false,
        streams: StreamCatalog = .builtIn, clock: OutboxClock = .now()
    ) throws {
        do {
            lock = try FileLock(path: path)
            database = try OutboxSchema.open(path)
            let ballast = Ballast(path: path + "-ballast")
            self.ballast = ballast
            diskHasRoom = { ballast.diskHasRoom }
            // The log has to fit where the ballast was.
            let pages = max(16, min(256, ballast.size / 4 / 4096))
            try database.execute("PRAGMA wal_autocheckpoint = \(ballast.size > 0 ? pages : 256)")
            self.limits = limits
            self.encoding = encoding
            self.keepsJournal = keepsJournal
            statements = try OutboxStatements(database, streams: streams)
            bytes = try database.integer("SELECT ifnull(sum(length(payload)), 0) FROM batches")
            droppedSamples = try database.integer(
                "SELECT ifnull(max(value), 0) FROM meta WHERE key = 'dropped_samples'")
            nextSeq = 1 + (try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = 'seq'"))
            let change = clock.change(since: try statements.lastClock(), newest: try statements.newestTime())
            let kept = try database.text("SELECT max(value) FROM meta WHERE key = 'epoch'")
            foundClockSet = kept != nil && change == .wasSet
            undated = try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = 'undated'")
            if let kept { epoch = try Epoch(validating: kept) } else { epoch = .random() }
            // Some may have been dropped by the commit that saved them, and a collector has been told so.
            let held = try statements.numbers(in: "batches")[epoch] ?? SequenceSet()
            unpublished = UnpublishedBatches(saved: try statements.unpublished().intersection(held))
            previousEpoch = try database.text("SELECT max(value) FROM meta WHERE key = 'previous_epoch'")
                .map { try Epoch(validating: $0) }
            try database.transaction {
                try statements.setMeta("epoch", epoch.rawValue)
                try statements.setClock(clock)
                if change == .restarted { undated = try statements.forgetTimes() }
            }
            if foundClockSet { try startEpoch(clock: clock) }
        } catch {
            throw OutboxError(path: path, error)
        }
    }

    /// Numbers, encodes and writes new batches, and forgets acknowledged ones, in one durable transaction.
    /// - Returns: what was written, and what the limits dropped for it.
    /// - Throws: ``OutboxError``; the outbox is then as before.
    public func commit(
        appending blocks: [SampleBlock], removing removed: [Epoch: SequenceSet] = [:], at now: Timestamp
    ) throws -> (entries: [Entry], dropped: Dropped) {
        let entries = blocks.enumerated().map { index, block in
            let position = BatchPosition(epoch: epoch, seq: nextSeq + Int64(index))
            let payload = encoding.encode(Batch(position: position, samples: block))
            return Entry(position: position, stream: block.stream, payload: payload)
        }
        var held = bytes
        var dropped = Dropped()
        do {
            try database.transaction {
                for (epoch, batches) in removed {
                    for range in batches.ranges { held -= try statements.delete(epoch, range) }
                }
                for (entry, block) in zip(entries, blocks) {
                    try statements.insert(entry, samples: block.count, at: now)
                    if keepsJournal { try statements.insertIntoJournal(entry) }
                    held += Int64(entry.payload.count)
                }
                dropped = try enforceLimits(bytes: limits.bytes, held: &held, now: now)
                if let last = entries.last { try statements.setMeta("seq", last.position.seq) }
                if dropped.samples > 0 { try statements.setMeta("dropped_samples", droppedSamples + dropped.samples) }
                if unpublished.isUnsaved { try statements.setUnpublished(unpublished.toSave) }
            }
        } catch {
            throw OutboxError(path: database.path, error)
        }
        bytes = held
        nextSeq += Int64(entries.count)
        droppedSamples += dropped.samples
        unpublished.didSave()
        for entry in entries { unpublished.batches.insert(entry.position.seq) }
        unpublished.batches.subtract(dropped.batches[epoch] ?? SequenceSet())
        return (entries.filter { dropped.batches[$0.position.epoch]?.contains($0.position.seq) != true }, dropped)
    }

    /// Drops the oldest batches until no more than `cap` bytes are held.
    func shrink(to cap: Int64, at now: Timestamp) throws -> Dropped {
        var held = bytes
        let dropped = try database.transaction {
            let dropped = try enforceLimits(bytes: cap, held: &held, now: now)
            try statements.setMeta("dropped_samples", droppedSamples + dropped.samples)
            return dropped
        }
        bytes = held
        droppedSamples += dropped.samples
        unpublished.batches.subtract(dropped.batches[epoch] ?? SequenceSet())
        return dropped
    }

    /// Keeps the file from growing, into the ballast for one, until the disk has room again.
    func limitFile() {
        let most = diskHasRoom() ? 0x3fff_fffe : (try? database.integer("PRAGMA page_count")) ?? 0
        try? database.execute("PRAGMA max_page_count = \(most)")
    }

    /// Copies the log into the file, so that it begins again; a reader or a full disk may be in the way.
    func mergeLog(truncate: Bool = false) { _ = try? database.checkpoint(truncate: truncate) }

    var path: String { database.path }

    /// The numbers of all batches held.
    public func pending() throws -> [Epoch: SequenceSet] {
        do { return try statements.numbers(in: "batches") } catch { throw OutboxError(path: database.path, error) }
    }

    /// The batches dropped so far, of the present epoch.
    public func droppedBatches() throws -> SequenceSet { try allDroppedBatches()[epoch] ?? SequenceSet() }

    /// The batches dropped so far.
    public func allDroppedBatches() throws -> [Epoch: SequenceSet] {
        do { return try statements.droppedRanges() } catch { throw OutboxError(path: database.path, error) }
    }

    /// Reads a batch back; nil if it is not held any more.
    public func entry(at position: BatchPosition) throws -> Entry? {
        do { return try statements.entry(at: position) } catch { throw OutboxError(path: database.path, error) }
    }

    /// Starts a new epoch, whose batches count from 1: the clock was set.
    public func startEpoch(clock: OutboxClock = .now()) throws {
        let next = Epoch.random()
        do {
            undated = try database.transaction {
                try statements.beginEpoch(next, after: epoch, seq: 0)
                try statements.setClock(clock)
                return try statements.forgetTimes()
            }
        } catch {
            throw OutboxError(path: database.path, error)
        }
        didBegin(next, seq: 0)
    }

    /// An epoch is written, with its highest number so far.
    func didBegin(_ next: Epoch, seq: Int64) {
        previousEpoch = epoch
        epoch = next
        nextSeq = seq + 1
        unpublished = UnpublishedBatches()
    }

    /// A number for a new session: the present in µs, but always higher than the one before.
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
        batch.id > undated && now.microseconds - batch.createdAt > limits.age
    }

    private func enforceLimits(bytes cap: Int64, held: inout Int64, now: Timestamp) throws -> Dropped {
        var dropped = Dropped()
        while let oldest = try statements.oldest(), held > cap || isTooOld(oldest, now: now) {
            try statements.drop(oldest)
            if held <= cap { dropped.agedSamples += oldest.samples }
            held -= oldest.bytes
            dropped.batches[oldest.position.epoch, default: SequenceSet()].insert(oldest.position.seq)
            dropped.samples += oldest.samples
        }
        return dropped
    }
}
