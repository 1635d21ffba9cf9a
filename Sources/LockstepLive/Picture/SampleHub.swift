import LockstepModel

/// Distributes samples to subscribers. Each event is encoded once for each stream, device and event rate.
struct SampleHub {
    fileprivate struct StreamSubscribers {
        let address: DeviceAddress
        /// The subscribers, by the index of their event rate. Rates without subscribers are absent.
        var members: [(rate: Int, subscribers: [Subscriber])] = []
    }

    /// The maximum number of samples in an event. A larger event might exceed the space of a subscriber's queue.
    private static let maxSamples = 1000

    private var coalescer: SampleCoalescer
    private var subscribersOfStream: [StreamKey: StreamSubscribers] = [:]
    private var requests: [Int: (subscriber: Subscriber, request: SampleRequest)] = [:]

    init(maxBytes: Int) { coalescer = SampleCoalescer(maxBytes: maxBytes) }

    /// The time at which events are due next, in µs of the boot clock.
    var nextDeadline: Int64? { coalescer.nextDeadline }

    /// Collects samples for the subscribers of their stream.
    mutating func add(_ batch: LiveBatch, at boot: Int64) {
        guard batch.batch.isLive, !requests.isEmpty else { return }
        let samples = batch.batch.samples
        if subscribersOfStream[batch.key] == nil {
            subscribersOfStream[batch.key] = subscribers(of: batch.address, samples.stream)
        }
        for (rate, _) in subscribersOfStream[batch.key]?.members ?? [] {
            coalescer.add(samples, to: .init(stream: batch.key, rate: rate), at: boot)
        }
    }

    /// Removes and returns the samples that are due. They are encoded and delivered without the lock of the hub.
    mutating func takeDue(at boot: Int64) -> [Delivery] {
        var deliveries: [Delivery] = []
        while let output = coalescer.removeFirst(at: boot) {
            guard let entry = subscribersOfStream[output.channel.stream],
                let subscribers = entry.members.first(where: { $0.rate == output.channel.rate })?.subscribers
            else { continue }
            deliveries.append(
                Delivery(
                    address: entry.address, subscribers: subscribers, samples: output.samples,
                    dropped: output.dropped))
        }
        return deliveries
    }

    /// Samples that are due, with their subscribers at that time.
    struct Delivery {
        let address: DeviceAddress
        let subscribers: [Subscriber]
        /// The samples; nil if all were dropped.
        let samples: SampleBlock?
        /// The number of samples that were dropped because too many were collected.
        let dropped: Int64

        /// Encodes the samples, and adds the events to the queues of the subscribers.
        /// - Parameter touched: receives the subscribers to notify.
        func deliver(touched: inout [Subscriber]) {
            if dropped > 0 { for subscriber in subscribers { subscriber.drop(dropped) } }
            guard let samples else { return }
            for start in stride(from: 0, to: samples.count, by: SampleHub.maxSamples) {
                let part = samples[start..<min(samples.count, start + SampleHub.maxSamples)]
                let event = EventBytes.event("samples", data: SampleJSON.encode(part, of: address))
                for subscriber in subscribers where subscriber.add(event, samples: part.count) {
                    touched.append(subscriber)
                }
            }
        }
    }

    /// Adds a subscriber.
    /// - Returns: the recent samples that it receives first. Samples that it will receive with the next event are left
    ///   out.
    mutating func add(
        _ subscriber: Subscriber, _ request: SampleRequest, devices: LiveDevices
    ) -> [(address: DeviceAddress, samples: [SampleBlock])] {
        let rate = request.rate
        var recent: [(address: DeviceAddress, samples: [SampleBlock])] = []
        for (index, device) in devices.devices(selectedBy: request) {
            for (position, stream) in device.streams.enumerated() where request.selects(device.address, stream.stream) {
                let key = StreamKey(device: index, stream: position)
                let channel = SampleCoalescer.Channel(stream: key, rate: rate)
                let hasSubscribers = subscribersOfStream[key]?.members.contains { $0.rate == rate } ?? false
                let blocks = stream.recentBlocks(without: hasSubscribers ? coalescer.count(in: channel) : 0)
                if !blocks.isEmpty { recent.append((device.address, blocks)) }
                if subscribersOfStream[key] == nil {
                    subscribersOfStream[key] = subscribers(of: device.address, stream.stream)
                }
                subscribersOfStream[key]?.add(subscriber, rate: rate)
            }
        }
        requests[subscriber.id] = (subscriber, request)
        return recent
    }

    /// Removes a subscriber, if it is one of this hub.
    mutating func remove(_ id: Int) {
        guard let (_, request) = requests.removeValue(forKey: id) else { return }
        for key in subscribersOfStream.keys {
            guard subscribersOfStream[key]?.remove(id, rate: request.rate) == true else { continue }
            coalescer.remove(.init(stream: key, rate: request.rate))
        }
        // Streams are matched with requests again when their next samples arrive.
        if requests.isEmpty { subscribersOfStream = [:] }
    }

    private func subscribers(of address: DeviceAddress, _ stream: SensorStream) -> StreamSubscribers {
        var result = StreamSubscribers(address: address)
        for (subscriber, request) in requests.values where request.selects(address, stream) {
            result.add(subscriber, rate: request.rate)
        }
        return result
    }
}

extension SampleHub.StreamSubscribers {
    fileprivate mutating func add(_ subscriber: Subscriber, rate: Int) {
        if let index = members.firstIndex(where: { $0.rate == rate }) {
            members[index].subscribers.append(subscriber)
        } else {
            members.append((rate, [subscriber]))
        }
    }

    /// Removes a subscriber.
    /// - Returns: whether it was the last one at its event rate.
    fileprivate mutating func remove(_ id: Int, rate: Int) -> Bool {
        guard let index = members.firstIndex(where: { $0.rate == rate }) else { return false }
        members[index].subscribers.removeAll { $0.id == id }
        guard members[index].subscribers.isEmpty else { return false }
        members.remove(at: index)
        return true
    }
}

extension LiveDevices {
    fileprivate func devices(selectedBy request: SampleRequest) -> [(index: Int, device: LiveDevice)] {
        let indices = request.devices?.compactMap { positions[$0] } ?? Array(entries.indices)
        return indices.map { ($0, entries[$0]) }
    }
}

extension LiveStream {
    /// Returns the recent blocks without the newest `count` samples.
    fileprivate func recentBlocks(without count: Int) -> [SampleBlock] {
        var blocks = (0..<recent.count).map { recent[$0] }
        var excess = count
        while excess > 0, let last = blocks.popLast() {
            if last.count > excess { blocks.append(last[0..<last.count - excess]) }
            excess -= last.count
        }
        return blocks
    }
}
