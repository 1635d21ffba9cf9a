public import LockstepModel

/// The sensors and their subscribers, as a value.
///
/// Each sensor runs at the fastest rate that any subscriber requests (``sourceRates``), and each subscriber receives
/// its own rate. A sensor without subscribers stops. Streams that no source provides are derived from other streams if
/// their inputs are available (see ``DerivedOptions``). A derived stream may be the input of another one.
///
/// Samples are expected on one time line, in time order within a stream.
public struct SensorGraph: Sendable {
    /// The available streams: built-in streams in the order of ``/LockstepModel/SensorStream/builtIn``, then declared
    /// streams by name.
    public let streams: [SensorStream]

    private let provided: Set<SensorStream>
    private let nativeRates: [SensorStream: Double]
    /// The fastest rates that the sensors support; infinite if unknown.
    private let fastestRates: [SensorStream: Double]
    private var derived: DerivedSensors
    private var subscribers: [Subscriber: [SensorStream: Subscription]] = [:]
    private var nextNumber = 0

    private struct Subscription: Sendable {
        let request: SensorRequest
        var limiter: RateLimiter
    }

    /// Creates the graph of the streams of `sources` and those that can be derived from them.
    public init(sources: [any SensorSource], options: DerivedOptions = DerivedOptions()) {
        let provided = Set(sources.flatMap(\.streams))
        self.provided = provided
        var nativeRates: [SensorStream: Double] = [:]
        var fastestRates: [SensorStream: Double] = [:]
        for source in sources {
            let sensors = source.sensors().filter { $0.problem == nil }
            for stream in source.streams {
                if let rate = source.nativeRate(of: stream) {
                    nativeRates[stream] = max(nativeRates[stream] ?? 0, rate)
                }
                // Infinite if any is unknown: the stream may then be faster than those that are known.
                let rates = sensors.filter { $0.stream == stream }.map { $0.fastestRate ?? .infinity }
                fastestRates[stream] = max(fastestRates[stream] ?? 0, rates.max() ?? .infinity)
            }
        }
        self.nativeRates = nativeRates
        self.fastestRates = fastestRates
        derived = DerivedSensors(options.sensors(provided: provided), provided: provided)
        let available = provided.union(derived.streams)
        streams =
            SensorStream.builtIn.filter(available.contains)
            + available.filter(\.isDeclared).sorted { $0.name < $1.name }
    }

    /// Creates a subscriber without requests.
    public mutating func addSubscriber() -> Subscriber {
        nextNumber += 1
        return Subscriber(number: nextNumber)
    }

    /// Removes all subscribers. Called on a copy, to determine which sources a set of requests needs.
    package mutating func removeAllSubscribers() {
        subscribers = [:]
        derived.setDemand([:])
    }

    /// Replaces all requests of a subscriber. An empty dictionary removes the subscriber.
    /// - Returns: The pending samples of streams that end or change their rate.
    public mutating func setRequests(
        _ requests: [SensorStream: SensorRequest], for subscriber: Subscriber
    ) -> [SensorOutput] {
        var outputs: [SensorOutput] = []
        let requests = requests.filter { $0.value.rate > 0 }
        let previous = subscribers[subscriber] ?? [:]
        // Before the subscriptions end, so that the pending derived samples still reach the subscriber.
        for samples in derived.setDemand(demand(replacing: subscriber, by: requests)) { outputs += deliver(samples) }
        // Sort, so that the order of the outputs is deterministic.
        let ending = previous.filter { $0.value.request != requests[$0.key] }.keys.sorted { $0.name < $1.name }
        for stream in ending {
            if let rest = subscribers[subscriber]?[stream]?.limiter.finish() {
                append(rest, for: subscriber, to: &outputs)
            }
            subscribers[subscriber]?[stream] = nil
        }
        for (stream, request) in requests where subscribers[subscriber]?[stream] == nil {
            subscribers[subscriber, default: [:]][stream] = Subscription(
                request: request, limiter: RateLimiter(stream: stream, request: request))
        }
        if subscribers[subscriber]?.isEmpty == true { subscribers[subscriber] = nil }
        return outputs
    }

    /// The rate in samples/s to request from the sources for each stream; `.infinity` is the native rate. A stream that
    /// is not contained is not requested.
    public var sourceRates: [SensorStream: Double] {
        var rates: [SensorStream: Double] = [:]
        var native: Set<SensorStream> = []
        func add(_ stream: SensorStream, _ request: SensorRequest) {
            guard provided.contains(stream) else { return }
            if request.rate.isInfinite { native.insert(stream) }
            rates[stream] = max(rates[stream] ?? 0, request.rate.isInfinite ? request.minimum : request.rate)
        }
        for (stream, subscription) in subscribers.values.joined() { add(stream, subscription.request) }
        for (stream, rate) in derived.inputRates { add(stream, SensorRequest(rate: rate)) }
        for stream in native {
            // A source without a native rate has a fixed rate, which cannot be raised.
            let rate = nativeRates[stream] ?? .infinity
            if rates[stream] ?? 0 <= rate { rates[stream] = .infinity }
        }
        return rates
    }

    /// Processes samples of a source and returns what each subscriber receives.
    public mutating func update(_ samples: SampleBlock) -> [SensorOutput] {
        guard provided.contains(samples.stream), !samples.isEmpty else { return [] }
        var outputs = deliver(samples)
        for samples in derived.update(samples) { outputs += deliver(samples) }
        return outputs
    }

    /// The statuses of the active derived sensors that report one, by their streams.
    public var derivedStatuses: [SensorStream: SourceStatus] { derived.statuses }

    /// Returns all pending samples and resets the graph, as after a clock step.
    /// - Parameter streams: The streams to reset, with those derived from them, because their source has ended; nil
    ///   resets all streams.
    public mutating func restart(of streams: Set<SensorStream>? = nil) -> [SensorOutput] {
        var outputs: [SensorOutput] = []
        var ending = streams ?? provided
        for samples in derived.restart(&ending) { outputs += deliver(samples) }
        for subscriber in subscribers.keys.sorted(by: { $0.number < $1.number }) {
            let streams = (subscribers[subscriber] ?? [:]).keys.filter(ending.contains).sorted { $0.name < $1.name }
            for stream in streams {
                guard let rest = subscribers[subscriber]?[stream]?.limiter.finish() else { continue }
                append(rest, for: subscriber, to: &outputs)
            }
        }
        return outputs
    }

    /// Returns the resulting rate of a request in samples/s, which is at most the fastest one that the sensor supports;
    /// `.infinity` is the native rate of the source.
    public func rate(of request: SensorRequest, for stream: SensorStream) -> Double {
        let rate =
            request.rate.isInfinite && request.minimum > nativeRates[stream] ?? .infinity
            ? request.minimum : request.rate
        return rate.isInfinite ? rate : min(rate, fastestRates[stream] ?? .infinity)
    }

    /// Returns the fastest requested rate of each stream after the requests of `subscriber` are replaced.
    private func demand(
        replacing subscriber: Subscriber, by requests: [SensorStream: SensorRequest]
    ) -> [SensorStream: Double] {
        var demand = requests.mapValues(\.rate)
        for (other, subscriptions) in subscribers where other != subscriber {
            for (stream, subscription) in subscriptions {
                demand[stream] = max(demand[stream] ?? 0, subscription.request.rate)
            }
        }
        return demand
    }

    private mutating func deliver(_ samples: SampleBlock) -> [SensorOutput] {
        guard !samples.isEmpty else { return [] }
        var outputs: [SensorOutput] = []
        for subscriber in subscribers.keys.sorted(by: { $0.number < $1.number }) {
            guard let limited = subscribers[subscriber]?[samples.stream]?.limiter.update(samples) else { continue }
            append(limited, for: subscriber, to: &outputs)
        }
        return outputs
    }

    private func append(_ samples: SampleBlock, for subscriber: Subscriber, to outputs: inout [SensorOutput]) {
        if !samples.isEmpty { outputs.append(SensorOutput(subscriber: subscriber, samples: samples)) }
    }
}
