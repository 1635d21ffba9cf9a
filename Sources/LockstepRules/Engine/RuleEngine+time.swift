public import LockstepModel

// Conditions of states, silence and health.

extension RuleEngine {
    /// Evaluates a transition of a device.
    public mutating func transition(
        _ transition: LifecycleTransition, of device: Int, at moment: Moment, into events: inout [RuleEvent]
    ) {
        guard let known = devices[device] else { return }
        if transition.to != .active, transition.to != .resumed {
            // Nobody reports a change of its orientation.
            for rule in known.held.keys { hold(since: nil, Key(device: device, rule: rule)) }
        }
        for index in known.states {
            let rule = ruleSet.rules[index]
            guard case .state(let states, let lasting) = rule.condition, var slot = known.slots[index] else { continue }
            let isWanted = states.contains(transition.to)
            let key = Key(device: device, rule: index)
            let time = transition.since.microseconds
            // The state before may have lasted long enough since the last tick.
            let start = StateStart(time, at: moment)
            if let completion = completion(of: index, in: known, by: start.boot, at: moment) {
                slot.live.isActive = true
                notifyByClock(rule, &slot.live, key, time: completion, at: moment.wall, into: &events)
            }
            let before = slot.live.since
            if slot.live.advance(to: before ?? time, starts: isWanted, ends: !isWanted, lasting: lasting) {
                var happened = rule
                if lasting == 0 { happened.condition = .state([transition.to], lasting: 0) }
                notifyByClock(happened, &slot.live, key, time: time, at: moment.wall, into: &events)
            }
            if before == nil, slot.live.since != nil { devices[device]?.began[index] = start }
            set(slot, key)
        }
    }

    /// Returns whether ``tick(at:listeningSince:into:)`` would change anything.
    public func isTickDue(at moment: Moment, listeningSince: Int64) -> Bool {
        guard hasTimeConditions else { return false }
        return devices.contains { device in
            guard let device else { return false }
            return device.states.contains { completion(of: $0, in: device, by: moment.boot, at: moment) != nil }
                || device.held.contains { isHeldLong(device, $0.key, since: $0.value, at: moment) }
                || device.silences.contains { isSilent(device, $0, at: moment, since: listeningSince) }
        }
    }

    /// Advances the time.
    /// - Parameter listeningSince: the start of the connection to the broker, in µs of the boot clock. Without a
    ///   connection, nobody can send anything.
    public mutating func tick(at moment: Moment, listeningSince: Int64, into events: inout [RuleEvent]) {
        guard hasTimeConditions else { return }
        for (number, device) in devices.enumerated() {
            guard let device else { continue }
            advanceStates(of: number, at: moment, into: &events)
            advanceOrientations(of: number, at: moment, into: &events)
            for index in device.silences where isSilent(device, index, at: moment, since: listeningSince) {
                guard var slot = device.slots[index] else { continue }
                slot.live.isActive = true
                let key = Key(device: number, rule: index)
                notifyByClock(
                    ruleSet.rules[index], &slot.live, key, time: moment.wall.microseconds, at: moment.wall,
                    into: &events)
                set(slot, key)
            }
        }
    }

    /// Completes the states of a device that have lasted long enough.
    mutating func advanceStates(of number: Int, at moment: Moment, into events: inout [RuleEvent]) {
        guard let device = devices[number] else { return }
        for index in device.states {
            guard let completion = completion(of: index, in: device, by: moment.boot, at: moment),
                var slot = device.slots[index]
            else { continue }
            slot.live.isActive = true
            let key = Key(device: number, rule: index)
            notifyByClock(ruleSet.rules[index], &slot.live, key, time: completion, at: moment.wall, into: &events)
            set(slot, key)
        }
    }

    /// Completes the orientations of a device that have lasted long enough.
    private mutating func advanceOrientations(of number: Int, at moment: Moment, into events: inout [RuleEvent]) {
        guard let device = devices[number] else { return }
        for (index, arrival) in device.held.sorted(by: { $0.key < $1.key })
        where isHeldLong(device, index, since: arrival, at: moment) {
            guard case .orientation(_, let lasting) = ruleSet.rules[index].condition, var slot = device.slots[index],
                let since = slot.live.since
            else { continue }
            slot.live.isActive = true
            let key = Key(device: number, rule: index)
            notify(
                ruleSet.rules[index], &slot.live, key, time: since + lasting, value: nil, at: moment.wall,
                into: &events)
            set(slot, key)
        }
    }

    /// Evaluates the number of missing and dropped batches of a device.
    public mutating func delivery(
        missing: Int64, dropped: Int64, of device: Int, at moment: Moment, into events: inout [RuleEvent]
    ) {
        for index in devices[device]?.health ?? [] {
            switch ruleSet.rules[index].condition {
            case .health(.gaps(let limit)):
                check(Key(device: device, rule: index), Double(missing), beyond: missing > limit, moment.wall, &events)
            case .health(.drops(let limit)):
                let key = Key(device: device, rule: index)
                let told = devices[device]?.slots[index]?.live.total ?? 0
                let isBeyond = Double(dropped) - told > Double(limit)
                check(key, Double(dropped), beyond: isBeyond, moment.wall, &events)
                // The count never falls: the next notification is due when it has risen again.
                guard isBeyond, var slot = devices[device]?.slots[index] else { continue }
                slot.live.total = Double(dropped)
                set(slot, key)
            default: break
            }
        }
    }

    /// Evaluates the share of the store's file system that is free.
    public mutating func disk(free: Double, at moment: Moment, into events: inout [RuleEvent]) {
        for index in machine.keys.sorted() {
            guard case .health(.disk(let limit)) = ruleSet.rules[index].condition else { continue }
            check(Key(device: -1, rule: index), free * 100, beyond: free < limit, moment.wall, &events)
        }
    }

    /// Whether conditions need ``delivery(missing:dropped:of:at:into:)`` or ``disk(free:at:into:)``.
    public var needsHealth: (delivery: Bool, disk: Bool) {
        let conditions = ruleSet.rules.map(\.condition)
        return (
            conditions.contains { condition in
                switch condition {
                case .health(.gaps), .health(.drops): true
                default: false
                }
            }, !machine.isEmpty
        )
    }

    mutating func hear(_ stream: SensorStream, device: Int, _ arrival: Arrival) {
        guard let known = devices[device] else { return }
        for index in known.silences {
            guard case .silence(let wanted, _) = ruleSet.rules[index].condition, wanted == nil || wanted == stream
            else { continue }
            devices[device]?.heard[wanted] = arrival.boot
            guard var slot = known.slots[index], slot.live.isActive else { continue }
            slot.live.isActive = false
            set(slot, Key(device: device, rule: index))
        }
    }

    mutating func checkClock(_ time: Int64, device: Int, _ arrival: Arrival, into events: inout [RuleEvent]) {
        for index in devices[device]?.health ?? [] {
            guard case .health(.clock(let limit)) = ruleSet.rules[index].condition else { continue }
            let offset = time - arrival.at.microseconds
            check(
                Key(device: device, rule: index), Double(offset) / 1e6, beyond: abs(offset) > limit, arrival.at,
                &events)
        }
    }

    private mutating func check(
        _ key: Key, _ value: Double, beyond isBeyond: Bool, _ at: Timestamp, _ events: inout [RuleEvent]
    ) {
        let found = key.device < 0 ? machine[key.rule] : devices[key.device]?.slots[key.rule]
        guard var slot = found else { return }
        if slot.live.advance(to: at.microseconds, starts: isBeyond, ends: !isBeyond, lasting: 0) {
            notifyByClock(
                ruleSet.rules[key.rule], &slot.live, key, time: at.microseconds, value: value, at: at, into: &events)
        }
        set(slot, key)
    }

    /// Adds an event whose time is of this machine's clock, and not of samples.
    private mutating func notifyByClock(
        _ rule: Rule, _ state: inout RuleState, _ key: Key, time: Int64, value: Double? = nil, at: Timestamp,
        into events: inout [RuleEvent]
    ) {
        // An event in the future is of a clock that was ahead. Its time says nothing about the cool-down.
        if let last = state.notifiedAt, last > at.microseconds { state.notifiedAt = nil }
        notify(rule, &state, key, time: time, value: value, at: at, into: &events)
    }

    /// Returns the time at which the state that a rule waits for has lasted long enough, in µs since 1970, or nil if it has
    /// not.
    /// - Parameter boot: the time up to which the state lasts, in µs of the boot clock.
    private func completion(of index: Int, in device: Device, by boot: Int64, at moment: Moment) -> Int64? {
        guard case .state(_, let lasting) = ruleSet.rules[index].condition, let state = device.slots[index]?.live,
            !state.isActive, let since = state.since
        else { return nil }
        let known = device.began[index].flatMap { $0.since == since ? $0 : nil }
        let end = (known ?? StateStart(since, at: moment)).boot + lasting
        guard boot >= end else { return nil }
        let time = moment.wall.microseconds - (moment.boot - end)
        // If the clock was not set since the start, both are the same except for its small corrections.
        return abs(time - since - lasting) < Self.maxCorrection ? since + lasting : time
    }

    private func isHeldLong(_ device: Device, _ index: Int, since arrival: Int64, at moment: Moment) -> Bool {
        guard case .orientation(_, let lasting) = ruleSet.rules[index].condition,
            let state = device.slots[index]?.live, !state.isActive, state.since != nil
        else { return false }
        return moment.boot - arrival >= lasting + Self.orientationDelay
    }

    private func isSilent(_ device: Device, _ index: Int, at moment: Moment, since listeningSince: Int64) -> Bool {
        guard case .silence(let stream, let lasting) = ruleSet.rules[index].condition,
            device.slots[index]?.live.isActive == false, let heard = device.heard[stream]
        else { return false }
        return moment.boot - max(heard, listeningSince) >= lasting
    }
}
