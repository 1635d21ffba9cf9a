import LockstepModel
import LockstepSensors
import Logging

/// Writes to the outbox.
extension AgentState {
    /// Returns the action that writes the blocks, together with unsaved blocks and the removal of acknowledged batches.
    /// - Parameter isForced: whether to write even before the retry time of a failed write.
    mutating func write(_ blocks: [SampleBlock], at moment: Moment, isForced: Bool = false) -> [Action] {
        let isRemovalDue = delivery.removalDeadline.map { moment.boot >= $0 } ?? false
        guard !blocks.isEmpty || !unsaved.isEmpty || isRemovalDue else { return [] }
        // After a failure, wait for the retry time instead of encoding all blocks again for every window.
        guard isForced || unwritable == nil || problems.isRetryDue("outbox", at: moment.boot) else {
            return keepUnsaved(blocks)
        }
        let all = unsaved + blocks
        unsaved = []
        return [.write(all, removing: delivery.removable[0] ?? [:])]
    }

    mutating func didWrite(
        _ accepted: Outbox.Accepted, droppedSamples: Int64, at moment: Moment
    ) -> [Action] {
        delivery.didRemove()
        var actions = keepUnsaved(accepted.unwritten.map(\.samples))
        actions.reserveCapacity(accepted.entries.count)
        if accepted.dropped.samples > 0 { actions += didDrop(accepted, total: droppedSamples) }
        for entry in accepted.entries { actions.append(.publishLive(entry)) }
        if let error = accepted.error {
            actions += writeFailure(error, at: moment.boot)
        } else {
            problems.resolve("outbox")
            if unwritable != nil {
                unwritable = nil
                actions.append(.log(.info, "outbox can be written again"))
            }
        }
        return actions
    }

    mutating func didFailToWrite(_ blocks: [SampleBlock], _ error: any Error, at moment: Moment) -> [Action] {
        keepUnsaved(blocks) + writeFailure(error, at: moment.boot)
    }

    private mutating func writeFailure(_ error: any Error, at boot: Int64) -> [Action] {
        unwritable = "\(error)"
        // The failed write counts as an attempt, so that the next one follows a second later.
        _ = problems.isRetryDue("outbox", at: boot)
        guard problems.isNew("outbox") else { return [] }
        return [.log(.error, "cannot write outbox, samples kept in memory", ["error": "\(error)"])]
    }

    private mutating func didDrop(_ accepted: Outbox.Accepted, total: Int64) -> [Action] {
        let dropped = accepted.dropped
        for (device, batches) in dropped.batches { delivery.forget(batches, of: device) }
        presence.isChanged = true
        var actions: [Action] = []
        if dropped.agedSamples > 0 {
            let days = configuration.outboxLimits.age / 86_400_000_000
            let limit = days > 0 ? "\(days) d" : "\(configuration.outboxLimits.age / 1_000_000) s"
            actions.append(
                .log(
                    .warning, "samples dropped",
                    [
                        "samples": "\(dropped.agedSamples)", "reason": "outbox-age", "limit": "\(limit)",
                        "total": "\(total)",
                    ]))
        }
        let oldest = dropped.samples - dropped.agedSamples
        if oldest > 0 {
            let reason = accepted.wasDiskFull ? "disk-full" : "outbox-size"
            actions.append(
                .log(
                    .warning, "samples dropped",
                    ["samples": "\(oldest)", "reason": "\(reason)", "total": "\(total)"]))
        }
        return actions
    }

    /// Keeps blocks in memory, and drops the oldest beyond the limit.
    private mutating func keepUnsaved(_ blocks: [SampleBlock]) -> [Action] {
        guard !blocks.isEmpty else { return [] }
        unsaved += blocks
        var count = unsavedCount
        guard count > Self.maxUnsavedSamples else { return [] }
        while count > Self.maxUnsavedSamples, let oldest = unsaved.first {
            unsaved.removeFirst()
            count -= oldest.count
            presence.unsavedDropped += Int64(oldest.count)
        }
        presence.isChanged = true
        // The problem is resolved together with "outbox", when the outbox can be written again.
        guard problems.isNew("outbox memory") else { return [] }
        return [.log(.warning, "samples dropped", ["reason": "memory-limit", "total": "\(presence.unsavedDropped)"])]
    }

    /// The number of samples in memory that could not be written.
    var unsavedCount: Int { unsaved.reduce(0) { $0 + $1.count } }
}

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
        var block = original
        var actions: [Action] = []
        if !original.isComplete {
            block = original.droppingIncomplete()
            presence.unsavedDropped += Int64(original.count - block.count)
            let (event, reason) =
                block.count < original.count
                ? ("samples dropped", "missing-or-impossible-value") : ("values left out", "out-of-range")
            if problems.isNew("\(reason) \(block.stream)") {
                actions = [.log(.warning, "\(event)", ["stream": "\(block.stream)", "reason": "\(reason)"])]
            }
        }
        if let calibration = presence.calibration { block = calibration.calibrated(block) }
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
