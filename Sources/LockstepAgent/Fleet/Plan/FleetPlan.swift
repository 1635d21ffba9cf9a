public import LockstepModel
import LockstepSensors
import LockstepWire

/// The devices of a fleet and the times of their batches, all derived from a few numbers.
///
/// Every device records all streams at the same rate, and completes one batch of each stream per window. The windows of
/// different devices and streams end at evenly distributed times. Batches are numbered as by an agent: first the
/// backlog, then live data, by round and within a round by stream. Therefore a batch can be computed from its number at
/// any time, and no batch needs to be stored.
public struct FleetPlan: Sendable, Hashable {
    /// The number of devices.
    public let devices: Int
    /// The group of all devices.
    public let group: GroupID
    /// The streams of each device.
    public let streams: [SensorStream]
    /// The sampling rate of each stream, in Hz.
    public let rate: Double
    /// The duration of one batch, in µs.
    public let window: Int64
    /// The number of windows of backlog.
    public let backlogRounds: Int64
    /// The number of windows of live data.
    public let liveRounds: Int64
    /// The seed of all values.
    public let seed: UInt64
    /// The time at which the run was requested. It identifies the run: a later run with the same seed has other epochs.
    public let run: Timestamp
    /// The start of live data.
    public var start: Timestamp

    /// Creates a plan.
    /// - Parameters:
    ///   - devices: the number of devices, at least 1.
    ///   - group: the group of all devices.
    ///   - streams: at least one stream.
    ///   - rate: the sampling rate of each stream, in Hz, above 0.
    ///   - window: the duration of a batch, in µs; extended to one sample if it is shorter.
    ///   - duration: the duration of live data, in µs; extended to one window if it is shorter.
    ///   - backlog: the duration of the data that is pending at the start, in µs.
    ///   - seed: the seed of all values.
    ///   - run: the time that identifies this run.
    public init(
        devices: Int, group: GroupID, streams: [SensorStream], rate: Double, window: Int64, duration: Int64,
        backlog: Int64 = 0, seed: UInt64, run: Timestamp
    ) {
        precondition(devices >= 1 && !streams.isEmpty && rate > 0)
        self.devices = devices
        self.group = group
        self.streams = streams
        self.rate = rate
        self.window = max(window, Int64((1_000_000 / rate).rounded(.up)))
        liveRounds = max(1, (duration + self.window - 1) / self.window)
        backlogRounds = (backlog + self.window - 1) / self.window
        self.seed = seed
        self.run = run
        start = run
    }

    /// The number of backlog batches of one device; they have the lowest sequence numbers.
    public var backlogBatches: Int64 { backlogRounds * Int64(streams.count) }
    /// The number of live batches of all devices.
    public var liveBatches: Int64 { liveRounds * Int64(streams.count * devices) }
    private var digits: Int { max(4, String(devices).count) }

    /// Returns the address of device `index`, from 0: the first is `sim-0001`.
    public func address(_ index: Int) -> DeviceAddress {
        let number = String(index + 1)
        return DeviceAddress(
            group: group,
            device: DeviceID(unchecked: "sim-" + String(repeating: "0", count: digits - number.count) + number))
    }

    /// Returns the index of a device, or nil if it is not in this plan.
    public func index(of address: DeviceAddress) -> Int? {
        guard address.group == group, address.device.rawValue.hasPrefix("sim-"),
            let number = Int(address.device.rawValue.dropFirst(4)), (1...devices).contains(number),
            self.address(number - 1) == address
        else { return nil }
        return number - 1
    }

    /// Returns the epoch of a device in this run.
    public func epoch(_ index: Int) -> Epoch {
        var generator = SeededGenerator(seed: seed, lane: UInt64(index), index: run.microseconds)
        return Epoch.random(using: &generator)
    }

    /// Returns the device and the sequence number of a turn of ``liveTurns``.
    func liveBatch(turn: Int64) -> (device: Int, seq: Int64) {
        let (round, place) = turn.quotientAndRemainder(dividingBy: Int64(devices * streams.count))
        let (device, stream) = place.quotientAndRemainder(dividingBy: Int64(streams.count))
        return (Int(device), (backlogRounds + round) * Int64(streams.count) + stream + 1)
    }

    /// The schedule of all live batches.
    var liveTurns: RoundRobin { RoundRobin(count: devices * streams.count, period: window) }

    /// Returns the time at which a batch is complete, in µs since the start; negative for backlog.
    public func completionTime(device: Int, seq: Int64) -> Int64 {
        let (round, stream) = place(seq)
        return (round - backlogRounds) * window + phase(device: device, stream: stream)
    }

    /// Returns whether a batch is backlog.
    public func isBacklog(_ seq: Int64) -> Bool { seq <= backlogBatches }

    /// Returns the number of samples of a batch.
    public func sampleCount(_ seq: Int64) -> Int { samples(round: place(seq).round).count }

    /// Returns the round of a batch, from 0 and including backlog, and the index of its stream.
    func place(_ seq: Int64) -> (round: Int64, stream: Int) {
        let (round, stream) = (seq - 1).quotientAndRemainder(dividingBy: Int64(streams.count))
        return (round, Int(stream))
    }

    /// Returns the range of sample numbers that each stream has in a round.
    func samples(round: Int64) -> Range<Int64> {
        let perRound = Double(window) * rate / 1_000_000
        return Int64((Double(round) * perRound).rounded(.down))..<Int64((Double(round + 1) * perRound).rounded(.down))
    }

    /// Returns how much later the windows of this device and stream end than those of the first device and stream, in
    /// µs.
    func phase(device: Int, stream: Int) -> Int64 {
        liveTurns.time(ofTurn: Int64(device * streams.count + stream))
    }
}

extension FleetPlan {
    /// Returns the batch of a device with a sequence number. Equal arguments give equal batches.
    public func batch(device: Int, seq: Int64) -> Batch {
        let (round, streamIndex) = place(seq)
        let stream = streams[streamIndex]
        let phase = phase(device: device, stream: streamIndex)
        // Sample 0 is one sampling interval after the start of the backlog, so that the last sample of a round is at
        // the end of its window.
        let origin = start + phase - (backlogRounds + 1) * window
        let times = samples(round: round).map { number in
            origin.microseconds + Int64((Double(number + 1) * 1_000_000 / rate).rounded(.down))
        }
        var generator = SeededGenerator(
            seed: seed, lane: UInt64(device * streams.count + streamIndex), index: seq)
        let columns = stream.columns.map { column in
            times.map { column.anyValue(at: $0, step: Int64(1_000_000 / rate), using: &generator) }
        }
        return Batch(
            position: BatchPosition(epoch: epoch(device), seq: seq), isLive: !isBacklog(seq),
            samples: SampleBlock(stream: stream, times: times, columns: columns))
    }

    /// Returns the stream of a batch, and its payload as an agent sends it.
    /// - Parameter isLate: whether the batch is backlog or is sent again.
    func payload(device: Int, seq: Int64, isLate: Bool) -> (payload: [UInt8], stream: SensorStream) {
        var batch = batch(device: device, seq: seq)
        if isLate { batch.isLive = false }
        return (BatchJSON.encode(batch), batch.samples.stream)
    }
}

extension SensorStream.Column {
    /// Returns a random valid value of this column, with about as many digits as a value of a sensor. Its only purpose
    /// is to cause load.
    fileprivate func anyValue(at time: Int64, step: Int64, using generator: inout SeededGenerator) -> Double {
        switch kind {
        // The start of the interval that a sample covers, or the time of a measurement.
        case .integer where isTime: Double(time - step)
        case .integer: Double(generator.next() % 3)
        case .choice(let words): Double(generator.next() % UInt64(words.count))
        // All ranges include the values from 0 to 1.
        case .real where range != nil: Double(generator.next() % 10_001) / 10_000
        case .real: Double(Int64(generator.next() % 20_001) - 10_000) / 10_000
        }
    }
}

/// A round-robin schedule: each of `count` items has one turn per period, at evenly spaced times.
///
/// The next turn follows from a counter, so that the schedule needs no heap of deadlines for 100,000 devices.
struct RoundRobin {
    let count: Int
    /// The time in which each item has one turn, in µs.
    let period: Int64
    /// The number of turns taken so far, which is also the number of the next turn.
    private(set) var turn: Int64 = 0

    /// Returns the time of a turn, in µs from the start.
    func time(ofTurn turn: Int64) -> Int64 {
        let (round, place) = turn.quotientAndRemainder(dividingBy: Int64(count))
        return round * period + place * period / Int64(count)
    }

    /// The time of the next turn, in µs from the start.
    var nextTime: Int64 { time(ofTurn: turn) }

    /// Takes the next turn if its time has come.
    /// - Parameter elapsed: the current time, in µs from the start.
    /// - Returns: the number of the turn, or nil if its time has not come.
    mutating func next(by elapsed: Int64) -> Int64? {
        guard elapsed >= nextTime else { return nil }
        defer { turn += 1 }
        return turn
    }

    /// Takes all turns whose time has come, and returns their items. Each item appears at most once, so turns that were
    /// missed for more than a period are skipped.
    /// - Parameter elapsed: the current time, in µs from the start.
    mutating func takeDueItems(by elapsed: Int64) -> [Int] {
        var items: [Int] = []
        while let turn = next(by: elapsed) {
            if items.count < count { items.append(Int(turn % Int64(count))) }
        }
        return items
    }
}
