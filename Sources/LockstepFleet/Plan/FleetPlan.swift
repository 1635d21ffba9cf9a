public import LockstepModel
import LockstepSensors

/// Which devices there are, and which batch each has when: a pure function of these few numbers.
///
/// Every device records all streams at one rate and has a batch of each stream once a window. Windows of different
/// devices and streams end at different times, evenly spread. Batches are numbered as an agent numbers them: the
/// backlog first, then live data, round by round and in a round stream by stream; so any batch can be made again from
/// its number, and nobody has to keep it.
public struct FleetPlan: Sendable, Hashable {
    public let devices: Int
    public let group: GroupID
    public let streams: [SensorStream]
    /// Samples a second of one stream.
    public let rate: Double
    /// µs of samples in one batch.
    public let window: Int64
    /// How many windows before the begin are backlog.
    public let backlogRounds: Int64
    /// How many windows are live.
    public let liveRounds: Int64
    public let seed: UInt64
    /// When this run was thought up. A later run with the same seed has epochs of its own.
    public let run: Timestamp
    /// When live data begins.
    public var begin: Timestamp

    /// - Parameters:
    ///   - devices: at least 1.
    ///   - streams: at least one.
    ///   - rate: samples a second of one stream, above 0.
    ///   - window: µs of a batch; where that is less than a sample, a batch has one.
    ///   - duration: µs of live data, at least one window.
    ///   - backlog: µs of data that wait at the begin.
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
        begin = run
    }

    /// Batches of one device that wait at the begin: their numbers are the lowest.
    public var backlogBatches: Int64 { backlogRounds * Int64(streams.count) }
    /// Live batches of all devices.
    public var liveBatches: Int64 { liveRounds * Int64(streams.count * devices) }
    /// Digits of the highest number of a device.
    private var digits: Int { max(4, String(devices).count) }

    /// Device `index`, from 0: `sim-0001` is the first.
    public func address(_ index: Int) -> DeviceAddress {
        let number = String(index + 1)
        return DeviceAddress(
            group: group,
            device: DeviceID(unchecked: "sim-" + String(repeating: "0", count: digits - number.count) + number))
    }

    /// The index of a device of this plan.
    public func index(of address: DeviceAddress) -> Int? {
        guard address.group == group, address.device.rawValue.hasPrefix("sim-"),
            let number = Int(address.device.rawValue.dropFirst(4)), (1...devices).contains(number),
            self.address(number - 1) == address
        else { return nil }
        return number - 1
    }

    public func epoch(_ index: Int) -> Epoch {
        var generator = SeededGenerator(seed: seed, lane: UInt64(index), index: run.microseconds)
        return Epoch.random(using: &generator)
    }

    /// The device and batch that have turn `turn` of the live data.
    func liveBatch(turn: Int64) -> (device: Int, seq: Int64) {
        let (round, place) = turn.quotientAndRemainder(dividingBy: Int64(devices * streams.count))
        let (device, stream) = place.quotientAndRemainder(dividingBy: Int64(streams.count))
        return (Int(device), (backlogRounds + round) * Int64(streams.count) + stream + 1)
    }

    /// The turns in which devices have their live batches.
    var liveTurns: Rotation { Rotation(count: devices * streams.count, period: window) }

    /// µs from the begin until the batch is complete, and due; negative for backlog.
    public func due(device: Int, seq: Int64) -> Int64 {
        let (round, stream) = place(seq)
        return (round - backlogRounds) * window + phase(device: device, stream: stream)
    }

    public func isBacklog(_ seq: Int64) -> Bool { seq <= backlogBatches }

    /// Samples of a batch.
    public func sampleCount(_ seq: Int64) -> Int { samples(round: place(seq).round).count }

    /// The round from 0, backlog included, and the index of the stream of a batch.
    func place(_ seq: Int64) -> (round: Int64, stream: Int) {
        let (round, stream) = (seq - 1).quotientAndRemainder(dividingBy: Int64(streams.count))
        return (round, Int(stream))
    }

    /// The numbers of the samples that a round has of each stream.
    func samples(round: Int64) -> Range<Int64> {
        let perRound = Double(window) * rate / 1_000_000
        return Int64((Double(round) * perRound).rounded(.down))..<Int64((Double(round + 1) * perRound).rounded(.down))
    }

    /// µs by which the windows of a device and stream are later than those of the first.
    func phase(device: Int, stream: Int) -> Int64 {
        liveTurns.due(Int64(device * streams.count + stream))
    }
}
