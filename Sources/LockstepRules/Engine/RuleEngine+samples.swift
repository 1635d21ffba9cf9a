public import LockstepModel
import LockstepMotion

// Samples: each new row is evaluated once, in the order of its time where it arrives so.

extension RuleEngine {
    /// When a piece of samples arrived.
    public struct Arrival: Sendable {
        /// The time of receipt, on the collector's clock.
        public var at: Timestamp
        /// The time in µs of the boot clock.
        public var boot: Int64
        /// Whether the sender declares the samples as live.
        public var isLive: Bool

        /// Creates an arrival.
        public init(at: Timestamp, boot: Int64, isLive: Bool) {
            self.at = at
            self.boot = boot
            self.isLive = isLive
        }
    }

    /// Evaluates new samples.
    /// - Parameters:
    ///   - rows: the indices of new samples in `block`, whose times increase.
    ///   - device: the number of the device.
    public mutating func samples(
        // Not generic: the module of a caller could not specialize it, which would cost a hundred times more a row.
        _ block: SampleBlock, rows: Range<Int>, of device: Int, arrival: Arrival, into events: inout [RuleEvent]
    ) {
        guard let first = rows.first, let last = rows.last, let known = devices[device] else { return }
        let stream = block.stream
        if !known.silences.isEmpty { hear(stream, device: device, arrival) }
        if arrival.isLive, !known.health.isEmpty {
            checkClock(block.times[last], device: device, arrival, into: &events)
        }
        guard let rules = known.byStream[stream] else { return }
        let newest = known.newest[stream] ?? .min
        let end = block.times[last]
        // Usually all samples are newer than those before.
        var split = rows.startIndex
        if block.times[first] <= newest {
            split = rows.firstIndex { block.times[$0] > newest } ?? rows.endIndex
        }
        var due = rules
        if split == rows.startIndex, newest != .min {
            let range = known.quiet[stream] ?? quietRange(of: stream, device: device)
            if block.times[first] - newest <= range.maxGap, range.contains(block, rows) { due = range.others }
        }
        // After the last use of `known`, so that this copies no dictionary.
        if end > newest { setNewest(end, stream, before: newest, device: device) }
        for rule in due {
            let key = Key(device: device, rule: rule)
            guard var slot = devices[device]?.slots[rule] else { continue }
            if split > rows.startIndex {
                var state = slot.late ?? slot.live
                state.takeCooldowns(of: slot.live)
                // Steps count for their day, in whatever order they arrive.
                if case .steps = ruleSet.rules[rule].condition {
                    evaluate(rule, &slot.live, block, rows[..<split], key, arrival, isBacklog: true, into: &events)
                } else {
                    evaluate(rule, &state, block, rows[..<split], key, arrival, isBacklog: true, into: &events)
                    slot.late = state
                    slot.live.takeCooldowns(of: state)
                }
            }
            if split < rows.endIndex {
                let start = block.times[rows[split]]
                if newest != .min, start - newest > ruleSet.rules[rule].lateAfter { slot.late = slot.live }
                evaluate(rule, &slot.live, block, rows[split...], key, arrival, isBacklog: false, into: &events)
            }
            set(slot, key)
            if case .orientation(_, let lasting) = ruleSet.rules[rule].condition, lasting > 0, split < rows.endIndex {
                // One that has just begun did not last before.
                if slot.live.since == block.times[last] { hold(since: nil, key) }
                hold(since: arrival.isLive && slot.live.since != nil ? arrival.boot : nil, key)
            }
        }
    }

    /// Computes and keeps the values that change nothing.
    private mutating func quietRange(of stream: SensorStream, device: Int) -> QuietRange {
        var range = QuietRange()
        for index in devices[device]?.byStream[stream] ?? [] {
            let state = devices[device]?.slots[index]?.live ?? RuleState()
            range.add(ruleSet.rules[index], index, state)
        }
        devices[device]?.quiet[stream] = range
        return range
    }

    private mutating func evaluate(
        _ index: Int, _ state: inout RuleState, _ block: SampleBlock, _ rows: Range<Int>,
        _ key: Key, _ arrival: Arrival, isBacklog: Bool, into events: inout [RuleEvent]
    ) {
        let rule = ruleSet.rules[index]
        for row in rows {
            let time = block.times[row]
            var value: Double?
            var end = time
            // The rule with what happened, if its condition names several choices.
            var happened = rule
            let isComplete: Bool
            switch rule.condition {
            case .value(let condition):
                let raw = block.columns[condition.column][row]
                guard !raw.isNaN else { continue }
                guard let figure = figure(raw, condition, at: time, key, isBacklog: isBacklog) else { continue }
                value = figure
                isComplete = state.advance(
                    to: time, starts: condition.starts(figure), ends: condition.ends(figure),
                    lasting: condition.lasting)
            case .shake:
                guard !isBacklog else { continue }
                let columns = block.columns
                let shake = shakes[key, default: ShakeDetector()].update(
                    time: time, x: columns[0][row], y: columns[1][row], z: columns[2][row])
                value = shake?.strength
                isComplete = shake != nil
            case .fall:
                guard !isBacklog else { continue }
                let columns = block.columns
                let fall = falls[key, default: FallDetector()].update(
                    time: time, x: columns[0][row], y: columns[1][row], z: columns[2][row])
                value = fall?.strength
                isComplete = fall != nil
                end = fall?.impact ?? time
            case .orientation(let wanted, let lasting):
                let orientation = DeviceOrientation(streamValue: block.columns[0][row])
                let isWanted = orientation.map(wanted.contains) ?? false
                // One that has to last may have changed between the choices.
                if let orientation, lasting == 0 { happened.condition = .orientation([orientation], lasting: 0) }
                // A row is a change: the orientation before it lasted until now.
                if !isWanted, let since = state.since, !state.isActive, time - since >= lasting {
                    isComplete = true
                    end = since + lasting
                    state.since = nil
                } else {
                    isComplete = state.advance(to: time, starts: isWanted, ends: !isWanted, lasting: lasting)
                }
            case .activity(let wanted):
                let activity = MotionActivity(row: block.values(at: row))?.kind
                let isWanted = activity.map(wanted.contains) ?? false
                if let activity { happened.condition = .activity([activity]) }
                isComplete = state.advance(to: time, starts: isWanted, ends: !isWanted, lasting: 0)
            case .steps(let goal, let zone):
                let day = zone.local(Timestamp(microseconds: time)).day
                if let known = state.day, day < known { continue }
                if state.day != day { (state.day, state.total) = (day, 0) }
                let before = state.total ?? 0
                let total = before + (block.columns[1][row].isNaN ? 0 : block.columns[1][row])
                state.total = total
                value = total
                isComplete = before < goal && total >= goal
            case .place(let condition):
                isComplete = place(condition, &state, block, row)
            case .state, .silence, .health: continue
            }
            guard isComplete else { continue }
            notify(happened, &state, key, time: end, completed: time, value: value, at: arrival.at, into: &events)
        }
    }

    private mutating func figure(
        _ value: Double, _ condition: ValueCondition, at time: Int64, _ key: Key, isBacklog: Bool
    ) -> Double? {
        guard let aggregate = condition.aggregate else { return value }
        // The window of the newest samples has no room for older ones.
        guard !isBacklog else { return nil }
        return windows[key, default: ValueWindow(span: condition.window)].add(value, at: time, aggregate)
    }

    private func place(_ condition: PlaceCondition, _ state: inout RuleState, _ block: SampleBlock, _ row: Int) -> Bool
    {
        let columns = block.columns
        let position = Coordinate(latitude: columns[0][row], longitude: columns[1][row])
        guard let isInside = condition.isInside(position, accuracy: columns[3][row], after: state.isInside) else {
            return false
        }
        let wasInside = state.isInside
        state.isInside = isInside
        switch condition.kind {
        case .enter: return wasInside == false && isInside
        case .leave: return wasInside == true && !isInside
        case .dwell(let lasting):
            return state.advance(to: block.times[row], starts: isInside, ends: !isInside, lasting: lasting)
        }
    }

    /// Adds an event, unless its schedule, its cool-down or its lateness suppress it.
    /// - Parameter completed: the time of the sample that showed the event, if that is not `time`.
    mutating func notify(
        _ rule: Rule, _ state: inout RuleState, _ key: Key, time: Int64, completed: Int64? = nil, value: Double?,
        at: Timestamp, into events: inout [RuleEvent]
    ) {
        let isLate = at.microseconds - (completed ?? time) > rule.lateAfter
        if isLate, rule.late == .ignore { return }
        if let schedule = rule.schedule, !schedule.contains(Timestamp(microseconds: time)) { return }
        // Late events and others have separate cool-downs, so that neither suppresses the other.
        let last = isLate ? \RuleState.lateNotifiedAt : \RuleState.notifiedAt
        if let last = state[keyPath: last], abs(time - last) < rule.cooldown { return }
        // Samples that arrive out of order must not end the cool-down of newer ones.
        state[keyPath: last] = max(state[keyPath: last] ?? time, time)
        let address = key.device < 0 ? nil : devices[key.device]?.address
        events.append(
            RuleEvent(rule, address, time: time, at: at.microseconds, value: value, isLate: isLate))
    }
}
