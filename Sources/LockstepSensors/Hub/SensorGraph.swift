public import LockstepModel

/// Sensors and those who ask for their samples, as a value: one sensor, one rate.
///
/// Each sensor is to run at the fastest rate that anyone asks for (``sourceRates``), each asker gets its own rate from
/// it, and a sensor of which nobody asks anything is to stop. Streams that no source gives are worked out where their
/// inputs are there: `motion/device`, `steps` and `orientation`; what they take asks like everyone else.
///
/// Samples come in on one time line, in order within a stream.
public struct SensorGraph: Sendable {
    /// The streams that can be asked for, in the order of ``SensorStream/all``.
    public let streams: [SensorStream]

    private let given: Set<SensorStream>
    private let ownRates: [SensorStream: Double]
    private var derived: [Node]
    private var askers: [Asker: [SensorStream: Wanted]] = [:]
    private var nextNumber = 0

    private struct Node: Sendable {
        var sensor: any DerivedSensor
        var inputs: [SensorStream: Double] = [:]
    }

    private struct Wanted: Sendable {
        let request: SensorRequest
        var limiter: RateLimiter
    }

    /// The sensors of these sources.
    public init(sources: [any SensorSource], options: DerivedOptions = DerivedOptions()) {
        let given = Set(sources.flatMap(\.streams))
        self.given = given
        var ownRates: [SensorStream: Double] = [:]
        for source in sources {
            for stream in source.streams {
                if let rate = source.ownRate(of: stream) { ownRates[stream] = max(ownRates[stream] ?? 0, rate) }
            }
        }
        self.ownRates = ownRates
        derived = options.sensors(given: given)
            .filter { !given.contains($0.stream) && $0.needs.isSubset(of: given) }
            .map { Node(sensor: $0) }
        let all = given.union(derived.map(\.sensor.stream))
        self.streams =
            SensorStream.builtIn.filter(all.contains) + all.filter(\.isDeclared).sorted { $0.name < $1.name }
    }

    /// A new asker, that asks for nothing yet.
    public mutating func addAsker() -> Asker {
        nextNumber += 1
        return Asker(number: nextNumber)
    }

    /// Makes it as if nobody had asked for anything: to find out what some requests alone come to.
    package mutating func forgetAskers() {
        askers = [:]
        tune()
    }

    /// Puts `requests` in the place of all that `asker` asked for before; none of them: it is gone.
    /// - Returns: what was still under way of streams that end or change their rate by this.
    public mutating func ask(_ asker: Asker, for requests: [SensorStream: SensorRequest]) -> [SensorOutput] {
        var outputs: [SensorOutput] = []
        let before = askers[asker] ?? [:]
        // Sorted, so that the same calls always give the same order.
        let ending = before.filter { $0.value.request != requests[$0.key] }.keys.sorted { $0.name < $1.name }
        for stream in ending {
            if (requests[stream]?.rate ?? 0) <= 0 { outputs += finishDerived(stream, for: asker) }
            if let rest = askers[asker]?[stream]?.limiter.finish() { append(rest, for: asker, to: &outputs) }
            askers[asker]?[stream] = nil
        }
        for (stream, request) in requests where request.rate > 0 && askers[asker]?[stream] == nil {
            askers[asker, default: [:]][stream] = Wanted(
                request: request, limiter: RateLimiter(stream: stream, request: request))
        }
        if askers[asker]?.isEmpty == true { askers[asker] = nil }
        tune()
        return outputs
    }

    /// Samples a second to ask of the sources for each stream, `.infinity` for their own pace; of one that is not here
    /// nobody wants any.
    public var sourceRates: [SensorStream: Double] {
        var finite: [SensorStream: Double] = [:]
        var atOwnPace: Set<SensorStream> = []
        func want(_ stream: SensorStream, _ request: SensorRequest) {
            guard given.contains(stream) else { return }
            if request.rate.isInfinite { atOwnPace.insert(stream) }
            finite[stream] = max(finite[stream] ?? 0, request.rate.isInfinite ? request.minimum : request.rate)
        }
        for (stream, item) in askers.values.joined() { want(stream, item.request) }
        for (stream, rate) in derived.map(\.inputs).joined() { want(stream, SensorRequest(rate: rate)) }
        for stream in atOwnPace {
            // A pace that can't be changed is all that there is.
            let own = ownRates[stream] ?? .infinity
            if finite[stream] ?? 0 <= own { finite[stream] = .infinity }
        }
        return finite
    }

    /// Takes samples of a source.
    public mutating func update(_ samples: SampleBlock) -> [SensorOutput] {
        guard given.contains(samples.stream), !samples.isEmpty else { return [] }
        var outputs = deliver(samples)
        for index in derived.indices where derived[index].inputs[samples.stream] != nil {
            outputs += deliver(derived[index].sensor.update(samples))
        }
        return outputs
    }

    /// What is still under way; everything begins anew with the next samples, as after a step of the clock.
    /// - Parameter streams: only what is made of these, which a source gave that has ended; nil for everything.
    public mutating func restart(of streams: Set<SensorStream>? = nil) -> [SensorOutput] {
        var outputs: [SensorOutput] = []
        var ending = streams ?? given
        for index in derived.indices where !ending.isDisjoint(with: derived[index].inputs.keys) {
            outputs += deliver(derived[index].sensor.finish())
            ending.insert(derived[index].sensor.stream)
        }
        for asker in askers.keys.sorted(by: { $0.number < $1.number }) {
            for stream in (askers[asker] ?? [:]).keys.filter(ending.contains).sorted(by: { $0.name < $1.name }) {
                guard let rest = askers[asker]?[stream]?.limiter.finish() else { continue }
                append(rest, for: asker, to: &outputs)
            }
        }
        return outputs
    }

    /// Ends the derived sensor of a stream, if `asker` is the last who asks for it.
    private mutating func finishDerived(_ stream: SensorStream, for asker: Asker) -> [SensorOutput] {
        guard let index = derived.firstIndex(where: { $0.sensor.stream == stream }),
            !askers.contains(where: { $0.key != asker && $0.value[stream] != nil })
        else { return [] }
        return deliver(derived[index].sensor.finish())
    }

    /// Sets what the derived sensors take by what is asked of them.
    private mutating func tune() {
        for index in derived.indices {
            let sensor = derived[index].sensor
            let rate = askers.values.compactMap { $0[sensor.stream]?.request.rate }.max()
            derived[index].inputs = rate.map { sensor.inputs(for: $0).filter { given.contains($0.key) } } ?? [:]
        }
    }

    /// Samples a second that a request comes to; `.infinity` where nobody but the source knows.
    public func rate(of request: SensorRequest, for stream: SensorStream) -> Double {
        request.rate.isInfinite && request.minimum > ownRates[stream] ?? .infinity ? request.minimum : request.rate
    }

    private mutating func deliver(_ samples: SampleBlock) -> [SensorOutput] {
        guard !samples.isEmpty else { return [] }
        var outputs: [SensorOutput] = []
        for asker in askers.keys.sorted(by: { $0.number < $1.number }) {
            guard let limited = askers[asker]?[samples.stream]?.limiter.update(samples) else { continue }
            append(limited, for: asker, to: &outputs)
        }
        return outputs
    }

    private func append(_ samples: SampleBlock, for asker: Asker, to outputs: inout [SensorOutput]) {
        if !samples.isEmpty { outputs.append(SensorOutput(asker: asker, samples: samples)) }
    }
}
