public import LockstepModel
import LockstepSQLite
import LockstepWire

/// The agent's durable queue of batches that are not yet known to be stored, in an SQLite file of its own.
///
/// A batch gets its number here, in the transaction that writes it: numbers have no gaps and survive a restart. Belongs
/// to one thread.
public final class Outbox {
    public struct Limits: Sendable, Hashable {
        /// Bytes of payload; beyond it the oldest batches are dropped.
        public var bytes: Int64
        /// µs for which a batch is kept.
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
    }

    public private(set) var epoch: Epoch
    private var nextSeq: Int64
    /// Bytes of payload held.
    public private(set) var bytes: Int64
    /// Samples dropped since the file was made.
    public private(set) var droppedSamples: Int64

    private let lock: FileLock
    private let database: SQLiteDatabase
    private let statements: OutboxStatements
    private let limits: Limits
    private let keepsJournal: Bool

    /// Opens the outbox, or makes it with a new epoch.
    /// - Parameter keepsJournal: keep every batch ever accepted in the table `journal`, to prove a store against it.
    /// - Throws: ``OutboxError``.
    public init(path: String, limits: Limits = Limits(), keepsJournal: Bool = false) throws {
        do {
            lock = try FileLock(path: path)
            database = try OutboxSchema.open(path)
            self.limits = limits
            self.keepsJournal = keepsJournal
            statements = try OutboxStatements(database)
            bytes = try database.integer("SELECT ifnull(sum(length(payload)), 0) FROM batches")
            droppedSamples = try database.integer(
                "SELECT ifnull(max(value), 0) FROM meta WHERE key = 'dropped_samples'")
            nextSeq = 1 + (try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = 'seq'"))
            if let text = try database.text("SELECT max(value) FROM meta WHERE key = 'epoch'") {
                epoch = try Epoch(validating: text)
            } else {
                epoch = .random()
                try database.transaction { try statements.setMeta("epoch", epoch.rawValue) }
            }
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
            let payload = BatchJSON.encode(Batch(position: position, samples: block))
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
                dropped = try enforceLimits(held: &held, now: now)
                if let last = entries.last { try statements.setMeta("seq", last.position.seq) }
                if dropped.samples > 0 { try statements.setMeta("dropped_samples", droppedSamples + dropped.samples) }
            }
        } catch {
            throw OutboxError(path: database.path, error)
        }
        bytes = held
        nextSeq += Int64(entries.count)
        droppedSamples += dropped.samples
        return (entries.filter { dropped.batches[$0.position.epoch]?.contains($0.position.seq) != true }, dropped)
    }

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

    /// Starts a new epoch, whose batches count from 1.
    public func startEpoch() throws {
        let next = Epoch.random()
        do {
            try database.transaction {
                try statements.setMeta("epoch", next.rawValue)
                try statements.setMeta("seq", Int64(0))
            }
        } catch {
            throw OutboxError(path: database.path, error)
        }
        epoch = next
        nextSeq = 1
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

    /// The age of a batch of an earlier epoch is not known: the clock was stepped since, from 1970 for all one knows.
    private func isTooOld(_ batch: OutboxStatements.Oldest, now: Timestamp) -> Bool {
        batch.position.epoch == epoch && now.microseconds - batch.createdAt > limits.age
    }

    private func enforceLimits(held: inout Int64, now: Timestamp) throws -> Dropped {
        var dropped = Dropped()
        while let oldest = try statements.oldest(), held > limits.bytes || isTooOld(oldest, now: now) {
            try statements.drop(oldest)
            held -= oldest.bytes
            dropped.batches[oldest.position.epoch, default: SequenceSet()].insert(oldest.position.seq)
            dropped.samples += oldest.samples
        }
        return dropped
    }
}
