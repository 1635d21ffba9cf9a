import LockstepModel

/// Collects samples so that at most a certain number of events per second results for each stream of a device.
///
/// The first samples after a pause are due almost at once. Samples that arrive within the interval of an event rate
/// after an event are collected for the next one.
struct SampleCoalescer: Sendable {
    /// A stream of a device at one event rate.
    struct Channel: Hashable, Sendable {
        let stream: StreamKey
        /// The index of the rate in ``SampleRequest/rates``.
        let rate: Int
    }

    /// A device at one event rate.
    private struct Device: Hashable {
        let device: Int
        let rate: Int
    }

    struct Output: Sendable {
        let channel: Channel
        /// The samples; nil if all were dropped.
        let samples: SampleBlock?
        /// The number of samples that were dropped because too many were collected.
        let dropped: Int64
    }

    fileprivate struct Pending {
        /// The end of the last interval: the earliest time of the next event, in µs of the boot clock.
        var earliest: Int64 = 0
        var samples: SampleBlock?
        var dropped: Int64 = 0
        var bytes = 0
    }

    /// The time to wait for samples of the device's other streams, which are usually published together. Their events
    /// then wake each subscriber once. In µs.
    static let linger: Int64 = 5000

    private let maxBytes: Int
    private var pending: [Channel: Pending] = [:]
    /// The last deadline of any stream of a device, in µs of the boot clock.
    private var lastDue: [Device: Int64] = [:]
    private var deadlines = DeadlineQueue<Channel>()
    /// The memory of all collected samples, in bytes.
    private(set) var bytes = 0

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// The time at which samples are due next, in µs of the boot clock.
    var nextDeadline: Int64? { deadlines.nextDeadline }

    func count(in channel: Channel) -> Int { pending[channel]?.samples?.count ?? 0 }

    mutating func add(_ samples: SampleBlock, to channel: Channel, at boot: Int64) {
        guard !samples.isEmpty else { return }
        let size = RecentSamples.memory(of: samples)
        let isFull = bytes + size > maxBytes
        if !isFull { bytes += size }
        let isNew = pending[channel, default: Pending()].add(samples, bytes: size, isFull: isFull)
        guard isNew, let earliest = pending[channel]?.earliest else { return }
        let latest = max(earliest, boot + Self.linger)
        let device = Device(device: channel.stream.device, rate: channel.rate)
        // Join the device's other streams, if that delays nothing.
        let joined = lastDue[device].flatMap { $0 > boot && $0 >= earliest && $0 <= latest ? $0 : nil }
        lastDue[device] = joined ?? latest
        deadlines.add(channel, deadline: joined ?? latest)
    }

    /// Removes and returns the samples of the next channel that is due.
    mutating func removeFirst(at boot: Int64) -> Output? {
        while let channel = deadlines.popExpired(at: boot)?.key {
            // The channel may have been removed.
            guard let collected = pending[channel], collected.samples != nil || collected.dropped > 0 else { continue }
            bytes -= collected.bytes
            let interval = Int64(1_000_000 / SampleRequest.rates[channel.rate])
            pending[channel] = Pending(earliest: boot + interval)
            return Output(channel: channel, samples: collected.samples, dropped: collected.dropped)
        }
        return nil
    }

    /// Removes a channel that has no subscribers, with its samples.
    mutating func remove(_ channel: Channel) {
        if let removed = pending.removeValue(forKey: channel) { bytes -= removed.bytes }
    }
}

extension SampleCoalescer.Pending {
    /// Adds samples, or only their number if there is no space.
    /// - Returns: whether these are the first samples since the last event.
    fileprivate mutating func add(_ new: SampleBlock, bytes size: Int, isFull: Bool) -> Bool {
        let isFirst = samples == nil && dropped == 0
        if isFull {
            dropped += Int64(new.count)
        } else {
            bytes += size
            if samples == nil { samples = new } else { samples?.append(contentsOf: new) }
        }
        return isFirst
    }
}
