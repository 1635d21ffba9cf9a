public import LockstepModel

/// Evaluates rules on samples of the past, in the time of the samples.
///
/// Rules on health are not evaluated, because the past has no figures for them. The streams of a device may be passed
/// one after the other.
public struct Rehearsal: Sendable {
    private struct Span {
        var start: Int64
        var end: Int64
    }

    private var engine: RuleEngine
    private var found: [RuleEvent] = []
    private var numbers: [DeviceAddress: Int] = [:]
    /// The spans in which each stream of a device has had no pause as long as any silence.
    private var spans: [DeviceAddress: [SensorStream: [Span]]] = [:]
    private let shortestSilence: Int64?

    /// Creates a rehearsal of rules.
    public init(_ rules: RuleSet) {
        engine = RuleEngine(rules)
        shortestSilence = rules.rules.compactMap { rule in
            if case .silence(_, let lasting) = rule.condition { lasting } else { nil }
        }.min()
    }

    /// Returns whether the samples of a stream are needed.
    public func needs(_ stream: SensorStream) -> Bool { engine.watches(stream) }

    /// Evaluates samples of a device, whose times increase from block to block of a stream.
    public mutating func add(_ block: SampleBlock, of address: DeviceAddress) {
        guard let first = block.times.first, let last = block.times.last else { return }
        let number = number(of: address)
        if engine.needsNewest(of: block.stream, device: number) {
            engine.setNewest(.min, of: block.stream, device: number)
        }
        if let shortestSilence {
            for time in block.times { extend(time, of: block.stream, address, unlessPaused: shortestSilence) }
        }
        // The samples count as received at once.
        let arrival = RuleEngine.Arrival(at: Timestamp(microseconds: first), boot: last, isLive: false)
        engine.samples(block, rows: block.times.indices, of: number, arrival: arrival, into: &found)
        engine.commit()
    }

    /// Evaluates the transitions of a device in order.
    /// - Parameter end: the end of the time, up to which the last state lasts.
    public mutating func add(_ transitions: [LifecycleTransition], of address: DeviceAddress, end: Timestamp) {
        let number = number(of: address)
        for transition in transitions {
            advance(to: transition.since, of: number)
            engine.transition(transition, of: number, at: Self.moment(transition.since), into: &found)
        }
        advance(to: end, of: number)
        engine.commit()
    }

    /// Returns all events in the order of their times.
    /// - Parameter end: the end of the time, up to which a silence lasts.
    public func events(until end: Timestamp) -> [RuleEvent] {
        var events = found
        for (address, streams) in spans {
            for rule in engine.ruleSet.rules where rule.concerns(address) {
                guard case .silence(let stream, let lasting) = rule.condition else { continue }
                let own = stream.map { streams[$0] ?? [] } ?? streams.values.flatMap { $0 }
                events += silences(own, lasting, rule, address, until: end.microseconds)
            }
        }
        return events.sorted { ($0.time, $0.rule) < ($1.time, $1.rule) }
    }

    private func silences(
        _ spans: [Span], _ lasting: Int64, _ rule: Rule, _ address: DeviceAddress, until end: Int64
    ) -> [RuleEvent] {
        var events: [RuleEvent] = []
        var covered: Int64?
        var last: Int64?
        for span in spans.sorted(by: { $0.start < $1.start }) + [Span(start: end, end: end)] {
            if let covered, span.start - covered >= lasting {
                let time = covered + lasting
                let isAllowed = rule.schedule?.contains(Timestamp(microseconds: time)) ?? true
                if isAllowed, last.map({ time - $0 >= rule.cooldown }) ?? true {
                    events.append(RuleEvent(rule, address, time: time, at: time, value: nil, isLate: false))
                    last = time
                }
            }
            covered = max(covered ?? span.end, span.end)
        }
        return events
    }

    private mutating func number(of address: DeviceAddress) -> Int {
        if let known = numbers[address] { return known }
        let number = numbers.count
        numbers[address] = number
        engine.add(address, number: number, at: Self.moment(Timestamp(microseconds: 0)))
        return number
    }

    private mutating func extend(
        _ time: Int64, of stream: SensorStream, _ address: DeviceAddress, unlessPaused pause: Int64
    ) {
        var list = spans[address]?[stream] ?? []
        if let last = list.last, time - last.end < pause {
            list[list.count - 1].end = max(last.end, time)
        } else {
            list.append(Span(start: time, end: time))
        }
        spans[address, default: [:]][stream] = list
    }

    private mutating func advance(to time: Timestamp, of number: Int) {
        engine.advanceStates(of: number, at: Self.moment(time), into: &found)
    }

    /// The moment of a machine whose clock was never set.
    private static func moment(_ time: Timestamp) -> Moment {
        Moment(wall: time, boot: time.microseconds, awake: time.microseconds)
    }
}
