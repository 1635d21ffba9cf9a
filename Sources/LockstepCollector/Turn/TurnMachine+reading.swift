// The first half of a turn: reading, and handing parts to the store.

extension TurnMachine {
    /// Returns the time until which to linger, or nil to read at once.
    mutating func lingerEnd(hasUnsentData: Bool, at now: Instant) -> Instant? {
        // If the last turn read no message, a large message may still be arriving: read at once.
        guard isConnected, messages > 0, !hasUnsentData, !isPublishingStates else { return nil }
        return linger.begin(after: readStart, now: now)
    }

    /// Starts a turn.
    /// - Parameter lingerStart: the start of the linger before it. Messages have been waiting since then, so the turn
    ///   ends earlier.
    mutating func startReading(at now: Instant, after lingerStart: Instant? = nil) -> Action {
        readStart = now
        readEnd = (lingerStart ?? now) + limits.duration
        lastRead = now
        partStart = now
        messages = 0
        handedOverMessages = 0
        unacknowledged = 0
        retained = 0
        handedOverSamples = 0
        (messagesAtPause, samplesAtPause) = (0, 0)
        return .read
    }

    mutating func didRead(_ result: ReadResult, at now: Instant) -> Action {
        messages += result.messages
        unacknowledged += result.unacknowledged
        retained += result.retained
        pendingSamples = result.pendingSamples
        lastRead = now
        // Messages of a lost connection can no longer be acknowledged, so stop reading.
        guard isConnected, now < max(readEnd, earliestCommit ?? readEnd) else { return endReading(at: now) }
        let isPartFull = pendingSamples >= limits.partSamples
        // A read that ended at a limit may leave data that no poll reports: OpenSSL buffers the rest of a record.
        let isDrained = result.messages + result.linkEvents < Self.readLimit && !isPartFull
        guard isDrained else { return continueReading(isStoreIdle: result.isStoreIdle, at: now) }
        if let end = pauseEnd(at: now) { return .pause(until: end) }
        guard !isPublishingStates, let gap = idleGap.begin(after: unacknowledged) else { return endReading(at: now) }
        return .waitToRead(gap)
    }

    mutating func didWait(isReadable: Bool, isStoreIdle: Bool, at now: Instant) -> Action {
        idleGap.end(waited: now - lastRead, isReadable: isReadable)
        return isReadable ? continueReading(isStoreIdle: isStoreIdle, at: now) : endReading(at: now)
    }

    mutating func didHandOver(samples: Int?, at now: Instant) -> Action {
        if let samples {
            hasHandedOver = true
            handedOverSamples += samples
            pendingSamples = 0
        }
        partStart = lastRead
        return readMore(at: now)
    }

    /// Hands over the current group if it is large enough for a part, or reads more.
    mutating func continueReading(isStoreIdle: Bool, at now: Instant) -> Action {
        let isPart = limits.isPartReady(
            messages - handedOverMessages, after: handedOverMessages, elapsed: lastRead - partStart,
            of: readEnd - partStart)
        guard pendingSamples >= limits.partSamples || (isPart && isStoreIdle) else { return readMore(at: now) }
        handedOverMessages = messages
        return .handOver
    }

    /// Returns the time until which to read nothing, or nil if the turn should not pause.
    ///
    /// A turn pauses only if the store limits its commits: until it accepts the next one, and at a high rate also
    /// later, because each commit is an insert and a file for each table.
    private mutating func pauseEnd(at now: Instant) -> Instant? {
        guard messages > 0, let earliestCommit else { return nil }
        let samples = handedOverSamples + pendingSamples
        let isRateHigh =
            messages - messagesAtPause >= limits.burst || samples - samplesAtPause >= limits.pauseSamples
        (messagesAtPause, samplesAtPause) = (messages, samples)
        guard now < earliestCommit else { return isRateHigh ? now + limits.shortPause : nil }
        return min(earliestCommit, now + (isRateHigh ? limits.shortPause : limits.pause))
    }

    private mutating func readMore(at now: Instant) -> Action {
        let maxSamples = earliestCommit == nil ? limits.samples : limits.samplesOfLimitedCommit
        let isBelowLimits = messages < limits.messages && handedOverSamples + pendingSamples < maxSamples
        return isBelowLimits ? .read : endReading(at: now)
    }

    private mutating func endReading(at now: Instant) -> Action {
        guard isConnected, let time = resubscribeAt, time <= now else { return .review(advancingTime: isConnected) }
        resubscribeAt = nil
        return .subscribe
    }
}
