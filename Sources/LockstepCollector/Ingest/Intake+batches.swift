import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

extension Intake {
    /// Adds a batch of samples to the group.
    /// - Throws: the reason for a rejection. In this case nothing of the batch is kept, except its sequence number if
    ///   the batch can never be stored.
    mutating func ingestBatch(
        _ message: IncomingMessage, route: Int, _ registry: inout LifecycleRegistry, at moment: Moment
    ) throws {
        // MQTT clears a topic with an empty retained message.
        if message.payload.isEmpty, message.isRetained { return }
        let run = openRun(route: route)
        let before = group.runs[run].samples.count
        do throws(PayloadError) {
            try decode(message, route: route, into: run, at: moment)
            let newest = Timestamp(microseconds: group.runs[run].samples.times.last ?? 0)
            let isLive = group.runs[run].batches.last?.isLive == true
            try validateLastBatch(of: run, newest: newest, route: route, registry, at: moment)
            let count = group.runs[run].samples.count - before
            pendingSamples += count
            topics[route].batches += 1
            topics[route].samples += count
            if message.isRetained { return }
            if isLive, let device = topics[route].device {
                recordLiveSamples(newest, of: device, &registry, at: moment)
            } else {
                recordReturn(of: route, &registry, at: moment)
            }
        } catch {
            if group.runs[run].batches.isEmpty {
                // The run was opened for this batch, so it is the last one.
                group.runs.removeLast()
                topics[route].group = 0
            }
            recordUnstorable(error, route: route, registry, at: moment)
            if error.isRetryable, !message.isRetained, let position = error.position,
                let address = topics[route].address
            {
                refusedBatches.add(position, of: address, reason: error.description)
            }
            if !message.isRetained { recordReturn(of: route, &registry, at: moment) }
            throw error
        }
    }

    /// Refuses a numbered batch of a stream that is not known here. It may be declared later, or the collector upgraded, so the
    /// batch stays with its agent, which receives the reason.
    mutating func refuse(_ message: IncomingMessage, _ error: TopicError) {
        guard !message.isRetained, let address = error.address, scope.contains(address),
            let position = BatchEncoding.position(
                of: message.payload, contentType: message.contentType, limits: limits)
        else { return }
        refusedBatches.add(position, of: address, reason: error.description)
    }

    /// Returns the index of the topic's run in the current group. Opens the run if necessary.
    private mutating func openRun(route: Int) -> Int {
        if topics[route].group == groupNumber { return topics[route].run }
        // Reserve capacity only for topics of the previous group. Reservations for all known topics would take far more
        // memory than the messages of one group.
        let isSteady = topics[route].group == groupNumber - 1
        topics[route].group = groupNumber
        topics[route].run = group.runs.count
        let samples = isSteady ? topics[route].samples : 0
        var run = takeFreeRun(route: route, samples: samples) ?? newRun(route: route, isSteady: isSteady)
        run.deviceNumber = topics[route].device.flatMap { devices[$0].number }
        group.runs.append(consume run)
        topics[route].batches = 0
        topics[route].samples = 0
        return group.runs.count - 1
    }

    /// The number of samples up to which the memory of a run is kept for another one.
    static let maxReusedSamples = 64
    /// The number of runs whose memory is kept.
    private static let maxFreeRuns = 4096

    /// Keeps the memory of the runs of a group that was written. Allocating it again would take longer than decoding a
    /// small message.
    mutating func recycle(_ runs: consuming [SampleRun]) {
        while let run = runs.popLast() {
            guard run.samples.count <= Self.maxReusedSamples, let number = run.streamNumber,
                freeRuns[number].count < Self.maxFreeRuns
            else { continue }
            freeRuns[number].append(run)
        }
    }

    private mutating func takeFreeRun(route: Int, samples: Int) -> SampleRun? {
        guard samples <= Self.maxReusedSamples, let number = topics[route].streamNumber,
            let address = topics[route].address, var run = freeRuns[number].popLast()
        else { return nil }
        run.reset(to: address)
        return run
    }

    private func newRun(route: Int, isSteady: Bool) -> SampleRun {
        guard let address = topics[route].address, let stream = topics[route].stream else {
            preconditionFailure("a route to samples has an address and a stream")
        }
        var run = SampleRun(
            device: address, stream: stream, expectedBatches: isSteady ? topics[route].batches : 0,
            samples: isSteady ? topics[route].samples : 0)
        run.streamNumber = topics[route].streamNumber
        return run
    }

    /// Decodes a payload and appends its samples to a run.
    private mutating func decode(
        _ message: IncomingMessage, route: Int, into run: Int, at moment: Moment
    ) throws(PayloadError) {
        try checkSize(of: message)
        let limits = limits
        if message.payload.first == UInt8(ascii: "{"), let reader = topics[route].reader,
            group.runs[run].append(
                at: moment.wall,
                { samples, epoch in reader.read(message.payload, into: &samples, limits: limits, expecting: epoch) })
        {
            return
        }
        let batch = try BatchEncoding.decode(
            message.payload, contentType: message.contentType, stream: group.runs[run].samples.stream, limits: limits)
        group.runs[run].append(batch, at: moment.wall)
    }

    /// Checks the batch that was just decoded, and removes it from its run if it is not acceptable.
    private mutating func validateLastBatch(
        of run: Int, newest: Timestamp, route: Int, _ registry: borrowing LifecycleRegistry, at moment: Moment
    ) throws(PayloadError) {
        let isTimePlausible = newest - moment.wall <= maximumFuture
        let position = group.runs[run].batches.last?.position
        let hasWrongUnit = position == nil && newest.microseconds < Self.earliestTime
        if isTimePlausible, !hasWrongUnit, admitDevice(of: route, registry) {
            guard let position, let device = topics[route].device else { return }
            do { try use(position, of: device, at: moment) } catch {
                group.runs[run].removeLast()
                throw error
            }
            return
        }
        group.runs[run].removeLast()
        if hasWrongUnit { throw Self.wrongUnit(of: newest) }
        guard !isTimePlausible else { throw tooManyDevices(position: position) }
        throw PayloadError(
            "sample time \(newest) is in the future: check the clocks of the device and of the collector",
            position: position, isRetryable: true)
    }

    /// The time before which a batch without a number is rejected, in µs since 1970: 2000-01-01. Its client has probably sent
    /// seconds or milliseconds. A numbered batch is stored with any time: an agent whose device has no clock yet, and starts
    /// in 1970, has accepted it.
    private static let earliestTime: Int64 = 946_684_800_000_000

    private static func wrongUnit(of time: Timestamp) -> PayloadError {
        let value = time.microseconds
        let unit =
            switch value {
            case ..<100_000_000_000: "seconds: multiply them by 1000000"
            case ..<100_000_000_000_000: "milliseconds: multiply them by 1000"
            default: "another unit, or of a clock that was not set"
            }
        return PayloadError(
            "'t' must be in µs since 1970, and \(value) µs is \(time): this looks like a time in \(unit)")
    }

    /// Records the sequence number of a batch that can never be stored. Otherwise its agent would resend it forever.
    ///
    /// A batch that may be accepted later stays with the agent: recording its number would make the agent delete it.
    private mutating func recordUnstorable(
        _ error: PayloadError, route: Int, _ registry: borrowing LifecycleRegistry, at moment: Moment
    ) {
        guard let position = error.position, !error.isRetryable, admitDevice(of: route, registry),
            let address = topics[route].address, let device = topics[route].device,
            (try? use(position, of: device, at: moment)) != nil
        else { return }
        group.dropped.append(
            DroppedBatches(
                device: address, epoch: position.epoch, ranges: SequenceSet([position.seq...position.seq])))
    }

    /// Passes live samples to the life cycle of their device, or keeps the newest timestamp for later if the samples
    /// cannot change the state.
    private mutating func recordLiveSamples(
        _ newest: Timestamp, of device: Int, _ registry: inout LifecycleRegistry, at moment: Moment
    ) {
        guard devices[device].settledInGroup != groupNumber else {
            // The life cycle limits timestamps to the current time, but receives this one later. Limit it now.
            devices[device].newest = max(devices[device].newest, min(newest, moment.wall))
            if !devices[device].isPending { pendingDevices.append(device) }
            devices[device].isPending = true
            return
        }
        let number = devices[device].number ?? registry.number(of: devices[device].address, at: moment)
        devices[device].number = number
        let state = registry.handle(.liveSamples(newest: newest), of: number, at: moment, into: &group)
        guard state == .active || state == .inactive else { return }
        devices[device].settledInGroup = groupNumber
        devices[device].newest = min(newest, moment.wall)
    }

    /// Reports the newest live samples of all pending devices to their life cycles.
    mutating func reportNewest(_ registry: inout LifecycleRegistry, at moment: Moment) {
        for device in pendingDevices { reportNewest(of: device, &registry, at: moment) }
        pendingDevices.removeAll(keepingCapacity: true)
    }

    /// Reports the newest live samples of one device to its life cycle. Call it before any other event
    /// of the device.
    mutating func reportNewest(of device: Int, _ registry: inout LifecycleRegistry, at moment: Moment) {
        devices[device].settledInGroup = 0
        guard devices[device].isPending else { return }
        devices[device].isPending = false
        registry.handle(
            .liveSamples(newest: devices[device].newest), of: devices[device].address, at: moment, into: &group)
    }
}
