public import LockstepModel

/// The devices of an outbox, and where their batches are in the file.
public struct OutboxDevices: Sendable {
    /// What is known of the lowest id of a pending batch.
    private enum Lowest {
        case known(Int64?)
        case unknown
    }

    private var devices: [OutboxDevice] = []
    private var indexes: [DeviceAddress: Int] = [:]
    /// The device of each epoch, by the id of the epoch.
    private var deviceOfEpoch: [Int64: Int] = [:]
    private var lowest = Lowest.known(nil)

    /// The number of devices.
    public var count: Int { devices.count }
    /// The indexes of all devices.
    public var indices: Range<Int> { devices.indices }

    /// The device with an index.
    public internal(set) subscript(index: Int) -> OutboxDevice {
        get { devices[index] }
        _modify { yield &devices[index] }
    }

    /// Returns the index of a device, or nil if it is unknown.
    public func index(of address: DeviceAddress) -> Int? { indexes[address] }

    /// Adds a device without batches.
    /// - Returns: its index.
    mutating func add(_ device: OutboxDevice) -> Int {
        indexes[device.address] = devices.count
        devices.append(device)
        return devices.count - 1
    }

    mutating func rename(_ index: Int, to address: DeviceAddress) {
        indexes[devices[index].address] = nil
        indexes[address] = index
        devices[index].address = address
    }

    /// - Parameter isCurrent: whether new batches belong to it. It then ends the one before.
    mutating func add(_ epoch: OutboxDevice.EpochRows, to index: Int, isCurrent: Bool) {
        deviceOfEpoch[epoch.id] = index
        if isCurrent, let current = devices[index].current { devices[index].previousEpoch = current.epoch }
        devices[index].epochs.append(epoch)
        devices[index].hasCurrent = isCurrent
    }

    /// Gives the next number of the current epoch to a new batch.
    mutating func append(row: Int64, to index: Int) -> (position: BatchPosition, epochID: Int64) {
        let last = devices[index].epochs.count - 1
        devices[index].epochs[last].append(row)
        if case .known(nil) = lowest { lowest = .known(row) }
        let epoch = devices[index].epochs[last]
        return (BatchPosition(epoch: epoch.epoch, seq: epoch.lastSeq), epoch.id)
    }

    /// Changes the epoch with an id, when the file is read.
    mutating func update(epochID: Int64, _ body: (inout OutboxDevice.EpochRows) -> Void) {
        guard let index = deviceOfEpoch[epochID],
            let epoch = devices[index].epochs.firstIndex(where: { $0.id == epochID })
        else { return }
        body(&devices[index].epochs[epoch])
        lowest = .unknown
    }

    /// Returns a batch of the file if it is pending.
    func pendingBatch(epochID: Int64, seq: Int64) -> (device: Int, position: BatchPosition)? {
        guard let index = deviceOfEpoch[epochID], let epoch = devices[index].epochs.first(where: { $0.id == epochID }),
            epoch.pending.contains(seq)
        else { return nil }
        return (index, BatchPosition(epoch: epoch.epoch, seq: seq))
    }

    /// Removes pending batches. Others are ignored.
    /// - Returns: their rows.
    mutating func remove(_ batches: [Epoch: SequenceSet], of index: Int) -> SequenceSet {
        var rows = SequenceSet()
        for (epoch, numbers) in batches {
            guard let place = devices[index].epochs.firstIndex(where: { $0.epoch == epoch }) else { continue }
            rows.formUnion(devices[index].epochs[place].remove(numbers))
        }
        if case .known(let row?) = lowest, rows.contains(row) { lowest = .unknown }
        return rows
    }

    mutating func drop(_ position: BatchPosition, of index: Int, samples: Int64) {
        _ = remove([position.epoch: SequenceSet([position.seq...position.seq])], of: index)
        devices[index].droppedSamples += samples
        guard let place = devices[index].epochs.firstIndex(where: { $0.epoch == position.epoch }) else { return }
        devices[index].epochs[place].dropped.insert(position.seq)
    }

    /// Returns the lowest row of a pending batch, or nil if there is none.
    mutating func lowestRow() -> Int64? {
        if case .known(let row) = lowest { return row }
        var row = Int64.max
        // By index, because copies would count references.
        for index in devices.indices {
            for epoch in devices[index].epochs.indices {
                row = min(row, devices[index].epochs[epoch].lowestRow ?? .max)
            }
        }
        let found = row < .max ? row : nil
        lowest = .known(found)
        return found
    }
}

/// A device of an outbox.
public struct OutboxDevice: Sendable {
    /// The batches of one epoch, and their rows.
    struct EpochRows: Sendable {
        let id: Int64
        let epoch: Epoch
        /// The highest number given.
        var lastSeq: Int64 = 0
        /// The numbers of the batches that are neither acknowledged nor dropped.
        private(set) var pending = SequenceSet()
        /// The numbers of the dropped batches.
        var dropped = SequenceSet()
        /// The row of each number is that of the last run at or before it, plus the difference of the numbers. An outbox of
        /// one device has one run.
        private var runs: [(seq: Int64, row: Int64)] = []
        /// The number of runs from which those without a pending number are removed. The rows of many devices alternate, so a
        /// number that stays pending would keep all later ones.
        private var compactionSize = 128

        init(id: Int64, epoch: Epoch) {
            self.id = id
            self.epoch = epoch
        }

        mutating func append(_ row: Int64) {
            lastSeq += 1
            insert(lastSeq, row: row)
        }

        /// Adds a pending batch, whose number and row are the highest.
        mutating func insert(_ seq: Int64, row: Int64) {
            lastSeq = max(lastSeq, seq)
            if runs.last.map({ row - $0.row != seq - $0.seq }) ?? true { runs.append((seq, row)) }
            pending.insert(seq)
        }

        /// Returns the row of a pending batch, or nil if it is not pending.
        func row(of seq: Int64) -> Int64? {
            guard pending.contains(seq) else { return nil }
            let run = runs[run(of: seq)]
            return run.row + seq - run.seq
        }

        var lowestRow: Int64? { pending.first.flatMap { row(of: $0) } }

        /// Returns the rows of pending batches. Others are ignored.
        func rows(of batches: SequenceSet) -> SequenceSet {
            var rows = SequenceSet()
            for range in pending.intersection(batches).ranges {
                var first = range.lowerBound
                while first <= range.upperBound {
                    let index = run(of: first)
                    let end = index + 1 < runs.count ? runs[index + 1].seq - 1 : .max
                    let last = min(range.upperBound, end)
                    let offset = runs[index].row - runs[index].seq
                    rows.insert(first + offset...last + offset)
                    first = last + 1
                }
            }
            return rows
        }

        /// Removes pending batches. Others are ignored.
        /// - Returns: their rows.
        mutating func remove(_ batches: SequenceSet) -> SequenceSet {
            let rows = rows(of: batches)
            pending.subtract(batches)
            guard let first = pending.first else {
                runs = []
                return rows
            }
            let unused = run(of: first)
            if unused > 64 { runs.removeFirst(unused) }
            if runs.count >= compactionSize {
                runs = runs.indices.filter { index in
                    let end = index + 1 < runs.count ? runs[index + 1].seq - 1 : max(lastSeq, runs[index].seq)
                    return pending.overlaps(runs[index].seq...end)
                }.map { runs[$0] }
                compactionSize = max(128, 2 * runs.count)
            }
            return rows
        }

        /// The number of runs, for tests.
        var runCount: Int { runs.count }

        private func run(of seq: Int64) -> Int {
            var (low, high) = (0, runs.count)
            while high - low > 1 {
                let middle = (low + high) / 2
                if runs[middle].seq <= seq { low = middle } else { high = middle }
            }
            return low
        }
    }

    /// The address.
    public internal(set) var address: DeviceAddress
    /// The number of samples dropped since the device was added.
    public internal(set) var droppedSamples: Int64 = 0
    /// The epoch before the current one, or before the next one if there is no current one; nil if there is none.
    public internal(set) var previousEpoch: Epoch?
    /// The time of the newest sample of each stream in the current epoch, in µs since 1970, if epochs survive a restart. It is
    /// known even if no batch is pending.
    var newest: [String: Int64] = [:]
    /// The id in the file; nil until it is written.
    var id: Int64?
    /// All epochs with batches; the last one is the current one if `hasCurrent` is set.
    var epochs: [EpochRows] = []
    fileprivate(set) var hasCurrent = false

    init(address: DeviceAddress) { self.address = address }

    var current: EpochRows? { hasCurrent ? epochs.last : nil }
    /// The epoch of new batches; nil if the next batch begins one.
    public var epoch: Epoch? { current?.epoch }
    /// The number of the newest batch of the current epoch, or 0; nil if there is no current epoch.
    public var lastSeq: Int64? { current?.lastSeq }
    /// The numbers of all batches that are neither acknowledged nor dropped.
    public var pending: [Epoch: SequenceSet] { numbers(\.pending) }
    /// The numbers of all dropped batches.
    public var dropped: [Epoch: SequenceSet] { numbers(\.dropped) }

    private func numbers(_ set: KeyPath<EpochRows, SequenceSet>) -> [Epoch: SequenceSet] {
        var result: [Epoch: SequenceSet] = [:]
        for epoch in epochs where !epoch[keyPath: set].isEmpty { result[epoch.epoch] = epoch[keyPath: set] }
        return result
    }

    func row(of position: BatchPosition) -> Int64? {
        epochs.first { $0.epoch == position.epoch }?.row(of: position.seq)
    }

    func rows(of batches: [Epoch: SequenceSet]) -> SequenceSet {
        var rows = SequenceSet()
        for epoch in epochs { if let numbers = batches[epoch.epoch] { rows.formUnion(epoch.rows(of: numbers)) } }
        return rows
    }
}
