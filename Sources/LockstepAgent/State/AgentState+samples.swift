import LockstepModel
import LockstepSensors
import Logging

/// Samples, sources, rates and phases.
extension AgentState {
    mutating func handle(_ item: Inbox.Item, at moment: Moment) -> [Action] {
        switch item {
        case .samples(let block, let clock): return add(block, clock: clock, at: moment)
        case .status(let status, let source):
            guard presence.setStatus(status, of: source) else { return [] }
            var level = Logger.Level.info
            if case .unavailable = status { level = .warning }
            return [.log(level, "source status", ["source": "\(source)", "status": "\(status)"])]
        case .sourceEnded(let source, let error): return sourceEnded(source, error, at: moment)
        case .phase(let phase, let reason): return setPhase(phase, reason: reason, at: moment)
        case .stop:
            isStopping = true
            return []
        }
    }

    /// Stamps the samples of a source and adds them to the window, at the rates of the subscribers.
    mutating func add(_ original: SampleBlock, clock: SampleClock, at moment: Moment) -> [Action] {
        let block = original.droppingIncomplete()
        var actions: [Action] = []
        if block.count < original.count {
            presence.unsavedDropped += Int64(original.count - block.count)
            if problems.isNew("incomplete \(block.stream)") {
                actions = [
                    .log(.warning, "samples dropped", ["stream": "\(block.stream)", "reason": "missing-value"])
                ]
            }
        }
        let stamped = clock == .boot ? stamper.stamp(block, on: timeLine) : block
        let now = timeLine.timestamp(boot: moment.boot)
        for output in graph.update(stamped) {
            let age = output.samples.times.first.map { now.microseconds - $0 } ?? 0
            coalescer.add(output.samples, at: moment.boot, age: age)
        }
        return actions + updateDerivedStatuses()
    }

    /// Applies changed statuses of derived streams to the presence.
    private mutating func updateDerivedStatuses() -> [Action] {
        let statuses = graph.derivedStatuses
        guard statuses != derivedStatuses else { return [] }
        for stream in derivedStatuses.keys where statuses[stream] == nil { presence.removeStatus(of: stream.name) }
        derivedStatuses = statuses
        var actions: [Action] = []
        for (stream, status) in statuses where presence.setStatus(status, of: stream.name) {
            actions.append(.log(.info, "source status", ["source": "\(stream.name)", "status": "\(status)"]))
        }
        return actions
    }

    /// Adds the samples that filters and derived streams still hold to the window.
    mutating func finishGraph(at boot: Int64) {
        for output in graph.restart() { coalescer.add(output.samples, at: boot) }
    }

    private mutating func sourceEnded(_ source: String, _ error: (any Error)?, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        runningSources -= 1
        if let error {
            actions.append(.log(.error, "source failed", ["source": "\(source)", "error": "\(error)"]))
            sourceError = sourceError ?? error
            _ = presence.setStatus(.unavailable("\(error)"), of: source)
        } else {
            _ = presence.setStatus(.ended, of: source)
        }
        // Write at once, because no further samples arrive in this window.
        if runningSources == 0 {
            finishGraph(at: moment.boot)
            actions += write(coalescer.takeAll(), at: moment)
        }
        return actions
    }

    mutating func setPhase(_ phase: Phase, reason: String, at moment: Moment) -> [Action] {
        guard phase != presence.phase else { return [] }
        presence.setPhase(phase, reason: reason)
        return [
            .log(.info, "phase changed", ["phase": "\(phase.rawValue)", "reason": "\(reason)"]),
            .publishPresence(presence.report(at: timeLine.timestamp(boot: moment.boot))),
        ] + updateRates(at: moment)
    }

    /// Requests the rates that the phase and the leases need, and sets them on the sources if they have changed.
    mutating func updateRates(at moment: Moment) -> [Action] {
        let requests = configuration.rates.requests(
            in: presence.phase, leased: leases.rates, streams: graph.streams)
        for output in graph.setRequests(requests, for: publisher) { coalescer.add(output.samples, at: moment.boot) }
        let actions = updateDerivedStatuses()
        let rates = graph.sourceRates
        guard rates != appliedRates else { return actions }
        appliedRates = rates
        return actions + [.setSourceRates(rates)]
    }

    /// Returns the rate of a published stream in samples a second, or nil if it is not published.
    func publishedRate(of stream: SensorStream) -> Double? {
        configuration.rates.requests(in: presence.phase, leased: leases.rates, streams: [stream])[stream]
            .map { graph.rate(of: $0, for: stream) }
    }
}
