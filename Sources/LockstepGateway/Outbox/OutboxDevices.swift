public import LockstepModel

/// The devices of a gateway's outbox, and the rows of their batches.
public struct OutboxDevices: Sendable {
    private var devices: [OutboxDevice] = []
    private var indexes: [DeviceAddress: Int] = [:]
    /// The number of devices of each user, which is the first name of their first sender.
    private var counts: [Substring: Int] = [:]
    /// The device of each epoch, by the id of the epoch.
    private var deviceOfEpoch: [Int64: Int] = [:]

    /// The number of devices.
    public var count: Int { devices.count }
    /// The indexes of all devices.
    public var indices: Range<Int> { devices.indices }

    /// The device with an index.
    public internal(set) subscript(index: Int) -> OutboxDevice {
        get { devices[index] }
        _modify {
            yield &devices[index]
            if let current = devices[index].current { deviceOfEpoch[current.id] = index }
        }
    }

    /// Returns whether both have the same devices, epochs and batches.
    func hasSameBatches(as other: OutboxDevices) -> Bool {
        func batches(_ devices: OutboxDevices) -> [Int64: [Int64: SequenceSet]] {
            devices.devices.reduce(into: [:]) { result, device in
                guard let id = device.id else { return }
                result[id] = Dictionary(device.epochs.map { ($0.id, $0.pending) }) { first, _ in first }
            }
        }
        return batches(self) == batches(other)
    }

    /// Returns the index of a device, or nil if it is unknown.
    public func index(of address: DeviceAddress) -> Int? { indexes[address] }

    /// Returns the number of devices whose first sender has this user in its name, in any format.
    func count(ofUser user: String) -> Int {
        counts[user.prefix { $0 != "/" }] ?? 0
    }

    /// The user of a sender: the first name after its format.
    private static func user(of sender: String) -> Substring {
        let names = sender.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        return names.count > 1 ? names[1] : ""
    }

    /// Returns the senders of a format that were neither lost nor terminated when they were last heard.
    func presentSenders(of format: String) -> [ForeignName] {
        devices.compactMap { device in
            guard let presence = device.presence, presence.format == format,
                presence.phase != .lost, presence.phase != .terminated
            else { return nil }
            let parts = device.sender.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            return parts.first == format ? ForeignName(format, Array(parts.dropFirst())) : nil
        }
    }

    mutating func index(of address: DeviceAddress, sender: String) -> Int {
        if let known = indexes[address] { return known }
        devices.append(OutboxDevice(address: address, sender: sender))
        counts[Self.user(of: sender), default: 0] += 1
        indexes[address] = devices.count - 1
        return devices.count - 1
    }

    /// Adds a device that was read from the file.
    mutating func add(_ device: OutboxDevice) {
        indexes[device.address] = devices.count
        counts[Self.user(of: device.sender), default: 0] += 1
        for epoch in device.epochs { deviceOfEpoch[epoch.id] = devices.count }
        devices.append(device)
    }

    /// Returns the device and the position of a batch.
    func position(epochID: Int64, seq: Int64) -> (device: Int, position: BatchPosition)? {
        guard let index = deviceOfEpoch[epochID],
            let epoch = devices[index].epochs.first(where: { $0.id == epochID })
        else { return nil }
        return (index, BatchPosition(epoch: epoch.epoch, seq: seq))
    }

    /// Removes batches.
    /// - Returns: their rows.
    mutating func remove(_ batches: [Epoch: SequenceSet], of index: Int) -> [Int64] {
        batches.flatMap { epoch, numbers in devices[index].remove(numbers, of: epoch) }
    }

    mutating func drop(_ position: BatchPosition, of index: Int, samples: Int64) {
        let number = SequenceSet(CollectionOfOne(position.seq...position.seq))
        _ = devices[index].remove(number, of: position.epoch)
        devices[index].didDrop(position, samples: samples)
    }
}

/// A device of a gateway's outbox.
public struct OutboxDevice: Sendable {
    /// The rows of the batches of one epoch.
    struct EpochRows: Sendable {
        /// The id of the epoch in the file.
        let id: Int64
        let epoch: Epoch
        /// The row of each batch, by its number.
        var rows: [Int64: Int64] = [:]
        /// The numbers of the batches in the file.
        var pending = SequenceSet()
        /// The numbers of the dropped batches.
        var dropped = SequenceSet()
    }

    /// The address.
    public let address: DeviceAddress
    /// The foreign name of its first sender.
    public let sender: String
    /// The number of samples dropped because of the size limit.
    public internal(set) var droppedSamples: Int64 = 0
    /// The last epoch of an earlier run of the program, or nil if there is none.
    public internal(set) var previousEpoch: Epoch?
    /// The last known presence of its sender, or nil if none is known.
    public internal(set) var presence: OutboxPresence?

    /// The id in the file; nil until its first batch or presence is written.
    var id: Int64?
    /// All epochs with batches; the current one is the last one, if `hasCurrent` is set.
    var epochs: [EpochRows] = []
    private var hasCurrent = false
    private var nextSeq: Int64 = 1

    init(address: DeviceAddress, sender: String) {
        self.address = address
        self.sender = sender
    }

    /// The rows of the current epoch; nil before the first batch of this run.
    var current: EpochRows? { hasCurrent ? epochs.last : nil }

    /// The epoch of new batches; nil before the first batch of this run.
    public var epoch: Epoch? { current?.epoch }

    /// The number of the newest batch of this run; nil before the first one.
    var lastSeq: Int64? { hasCurrent ? nextSeq - 1 : nil }

    /// The numbers of all batches in the file.
    public var pending: [Epoch: SequenceSet] {
        var result: [Epoch: SequenceSet] = [:]
        for epoch in epochs where !epoch.pending.isEmpty { result[epoch.epoch] = epoch.pending }
        return result
    }

    /// The numbers of all dropped batches.
    public var dropped: [Epoch: SequenceSet] {
        var result: [Epoch: SequenceSet] = [:]
        for epoch in epochs where !epoch.dropped.isEmpty { result[epoch.epoch] = epoch.dropped }
        return result
    }

    mutating func begin(_ epoch: Epoch, id: Int64) {
        epochs.append(EpochRows(id: id, epoch: epoch))
        hasCurrent = true
        nextSeq = 1
    }

    /// Gives the next number to a batch.
    mutating func append(row: Int64) -> (position: BatchPosition, epochID: Int64) {
        let last = epochs.count - 1
        let seq = nextSeq
        nextSeq += 1
        epochs[last].rows[seq] = row
        epochs[last].pending.insert(seq)
        return (BatchPosition(epoch: epochs[last].epoch, seq: seq), epochs[last].id)
    }

    func row(at position: BatchPosition) -> Int64? {
        epochs.first { $0.epoch == position.epoch }?.rows[position.seq]
    }

    /// Removes batches.
    /// - Returns: their rows.
    mutating func remove(_ batches: SequenceSet, of epoch: Epoch) -> [Int64] {
        guard let index = epochs.firstIndex(where: { $0.epoch == epoch }) else { return [] }
        var removed: [Int64] = []
        for range in epochs[index].pending.intersection(batches).ranges {
            for seq in range {
                if let row = epochs[index].rows.removeValue(forKey: seq) { removed.append(row) }
            }
        }
        epochs[index].pending.subtract(batches)
        return removed
    }

    mutating func didDrop(_ position: BatchPosition, samples: Int64) {
        droppedSamples += samples
        guard let index = epochs.firstIndex(where: { $0.epoch == position.epoch }) else { return }
        epochs[index].dropped.insert(position.seq)
    }
}
