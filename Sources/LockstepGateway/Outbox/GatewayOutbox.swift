import LockstepAgent
public import LockstepModel
import LockstepSQLite
public import LockstepWire

/// The durable queue of the batches of many devices, in one SQLite file.
///
/// One transaction accepts the messages of all devices, so that one disk sync covers many messages. Each device has
/// its own epochs and numbers, as if it had an agent of its own.
///
/// A device begins a new epoch with its first batch after each start of the program. Therefore a file that was restored
/// from an older copy never gives a number twice: its old batches keep their numbers, and new ones have a new epoch.
///
/// Use it from one thread only.
public final class GatewayOutbox {
    /// The samples of one new batch.
    public struct Addition: Sendable {
        /// The index of the device.
        public let device: Int
        /// The samples.
        public let samples: SampleBlock
        /// Whether the sender wrote them long before they arrived.
        public let isLate: Bool

        /// Creates an addition.
        public init(device: Int, samples: SampleBlock, isLate: Bool) {
            self.device = device
            self.samples = samples
            self.isLate = isLate
        }
    }

    /// A batch with its encoded payload.
    public struct Entry: Sendable {
        /// The index of the device.
        public let device: Int
        /// The epoch and number of the batch.
        public let position: BatchPosition
        /// The stream of its samples.
        public let stream: SensorStream
        /// The encoded batch, as a live one.
        public let payload: [UInt8]
        /// Whether it must be published as late.
        public let isLate: Bool
    }

    /// The batches dropped because of the size limit.
    public struct Dropped: Sendable, Hashable {
        /// The numbers of the batches, by the index of the device.
        public var batches: [Int: [Epoch: SequenceSet]] = [:]
        /// The number of samples in them.
        public var samples: Int64 = 0
    }

    /// The devices, in the order in which they were first seen. An index is valid until the program ends.
    public private(set) var devices = OutboxDevices()
    /// The size of all payloads in bytes.
    public private(set) var bytes: Int64 = 0

    let file: OutboxFile
    private var statements: GatewayOutboxStatements
    /// What was done since the last call of ``takeRestoration()``, because the file was removed or moved.
    private var restoration: OutboxFile.Restoration?
    private let streams: StreamCatalog
    private let encoding: BatchEncoding
    private let maxBytes: Int64
    private let path: String
    private var lastID: Int64

    /// Opens the outbox, or creates it.
    /// - Parameters:
    ///   - path: the path of the file. Its folder must exist.
    ///   - maxBytes: the size of all payloads above which the oldest batches are dropped.
    ///   - encoding: the encoding of new batches.
    ///   - streams: the streams that batches can belong to.
    /// - Throws: `OutboxError` if the file cannot be opened or another gateway uses it.
    public init(
        path: String, maxBytes: Int64 = 256 << 20, encoding: BatchEncoding = .json, streams: StreamCatalog = .builtIn
    ) throws {
        self.path = path
        self.maxBytes = maxBytes
        self.encoding = encoding
        self.streams = streams
        do {
            file = try OutboxFile(path: path) { try GatewayOutboxSchema.open($0) }
            statements = try GatewayOutboxStatements(file.database)
            try statements.removeUnusedEpochs()
            (devices, bytes, lastID) = try statements.contents()
            file.hasSameContent = { [unowned self] in
                try GatewayOutboxStatements($0).contents().devices.hasSameBatches(as: devices)
            }
        } catch {
            throw OutboxError(path: path, owner: "gateway", name: "--id", error)
        }
    }

    /// Returns the index of the device with this address. A new device is added; it is saved with its first batch or
    /// presence.
    public func index(of address: DeviceAddress, sender: ForeignName) -> Int {
        devices.index(of: address, sender: sender.description)
    }

    /// Numbers, encodes and writes new batches, writes changed presences, and removes acknowledged batches, in one durable
    /// transaction.
    /// - Parameters:
    ///   - additions: the samples of the new batches.
    ///   - presences: the changed presences, by the index of the device.
    ///   - removed: the acknowledged batches, by the index of the device.
    /// - Throws: `OutboxError`. The outbox is unchanged in this case.
    public func commit(
        _ additions: [Addition], presences: [Int: OutboxPresence] = [:],
        removing removed: [Int: [Epoch: SequenceSet]] = [:]
    ) throws -> (entries: [Entry], dropped: Dropped) {
        // A copy, which replaces the state when the transaction is on disk.
        var change = Change(devices: devices, bytes: bytes, lastID: lastID)
        var entries: [Entry] = []
        entries.reserveCapacity(additions.count)
        do {
            try restoreFile()
            try statements.database.transaction {
                for (device, batches) in removed { try remove(batches, of: device, from: &change) }
                for addition in additions { entries.append(try append(addition, to: &change)) }
                for (device, presence) in presences { try set(presence, of: device, in: &change) }
                try dropOldest(of: &change)
            }
        } catch {
            throw OutboxError(path: path, owner: "gateway", name: "--id", error)
        }
        devices = change.devices
        bytes = change.bytes
        lastID = change.lastID
        let dropped = change.dropped
        if dropped.samples > 0 {
            entries.removeAll {
                dropped.batches[$0.device]?[$0.position.epoch]?.contains($0.position.seq) == true
            }
        }
        return (entries, dropped)
    }

    /// Returns a batch, or nil if it is no longer in the outbox.
    /// - Throws: `OutboxError`.
    public func entry(at position: BatchPosition, of device: Int) throws -> Entry? {
        guard let row = devices[device].row(at: position) else { return nil }
        do {
            guard let (name, payload, isLate) = try statements.entry(row),
                let stream = streams.reference(named: name)
            else { return nil }
            return Entry(device: device, position: position, stream: stream, payload: payload, isLate: isLate)
        } catch {
            throw OutboxError(path: path, owner: "gateway", name: "--id", error)
        }
    }

    /// Returns the number of a new session: the current time in µs since 1970, but always higher than the previous
    /// number.
    /// - Throws: `OutboxError`.
    public func startSession(at now: Timestamp) throws -> Int64 {
        do {
            try restoreFile()
            let session = max(now.microseconds, try statements.session() + 1)
            try statements.database.transaction { try statements.setSession(session) }
            return session
        } catch {
            throw OutboxError(path: path, owner: "gateway", name: "--id", error)
        }
    }

    /// Writes the file again if it was removed or moved, see `OutboxFile`.
    private func restoreFile() throws {
        if let done = try file.restore() { restoration = done }
        // They are prepared in a later call if that failed.
        guard statements.database !== file.database else { return }
        statements = try GatewayOutboxStatements(file.database)
    }

    /// Returns what was done since the last call, because the file was removed or moved.
    func takeRestoration() -> OutboxFile.Restoration? { restoration.take() }

    /// Records topic filters to which the gateway subscribes. The broker keeps them with the session, whose owner is this
    /// outbox.
    /// - Returns: the filters of earlier settings, from which the gateway has to unsubscribe.
    /// - Throws: `OutboxError`.
    public func replaceFilters(with filters: [String]) throws -> [String] {
        do {
            try restoreFile()
            // None is ever removed, because it is not known whether the broker has received the end of a subscription.
            let all = try statements.database.transaction { try statements.addFilters(filters) }
            return all.filter { !filters.contains($0) }
        } catch {
            throw OutboxError(path: path, owner: "gateway", name: "--id", error)
        }
    }

    private struct Change {
        var devices: OutboxDevices
        var bytes: Int64
        var lastID: Int64
        var dropped = Dropped()
    }

    private func remove(_ batches: [Epoch: SequenceSet], of device: Int, from change: inout Change) throws {
        for row in change.devices.remove(batches, of: device) { change.bytes -= try statements.delete(row) }
    }

    /// Writes a device, unless it is already in the file.
    /// - Returns: its id.
    private func register(_ index: Int, in change: inout Change) throws -> Int64 {
        if let id = change.devices[index].id { return id }
        let id = try statements.insert(change.devices[index])
        change.devices[index].id = id
        return id
    }

    private func set(_ presence: OutboxPresence, of index: Int, in change: inout Change) throws {
        try statements.set(presence, of: try register(index, in: &change))
        change.devices[index].presence = presence
    }

    private func append(_ addition: Addition, to change: inout Change) throws -> Entry {
        let index = addition.device
        _ = try register(index, in: &change)
        if change.devices[index].current == nil {
            let epoch = Epoch.random()
            let id = try statements.insert(epoch, of: change.devices[index])
            change.devices[index].begin(epoch, id: id)
        }
        change.lastID += 1
        let (position, epochID) = change.devices[index].append(row: change.lastID)
        let payload = encoding.encode(Batch(position: position, samples: addition.samples))
        let entry = Entry(
            device: index, position: position, stream: addition.samples.stream, payload: payload,
            isLate: addition.isLate)
        try statements.insert(entry, id: change.lastID, epoch: epochID, samples: addition.samples.count)
        change.bytes += Int64(payload.count)
        return entry
    }

    /// Drops the oldest batches above the size limit.
    private func dropOldest(of change: inout Change) throws {
        while change.bytes > maxBytes, let row = try statements.oldest(),
            let (index, position) = change.devices.position(epochID: row.epoch, seq: row.seq)
        {
            change.bytes -= try statements.delete(row.id)
            try statements.insertDropped(epoch: row.epoch, seq: row.seq)
            change.devices.drop(position, of: index, samples: row.samples)
            try statements.setDroppedSamples(of: change.devices[index])
            change.dropped.batches[index, default: [:]][position.epoch, default: SequenceSet()].insert(row.seq)
            change.dropped.samples += row.samples
        }
    }
}
