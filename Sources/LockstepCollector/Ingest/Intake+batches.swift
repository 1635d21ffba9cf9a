import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

extension Intake {
    /// Takes a message of samples in.
    /// - Throws: why it can't be; then nothing of it is kept but, where that is final, its number.
    mutating func takeBatch(
        _ message: IncomingMessage, of route: Int, _ book: inout LifecycleBook, at moment: Moment
    ) throws {
        // An empty retained message is how MQTT clears a topic.
        if message.payload.isEmpty, message.isRetained { return }
        let run = openRun(of: route)
        let before = group.runs[run].samples.count
        do throws(PayloadError) {
            try read(message, of: route, into: run, at: moment)
            let newest = Timestamp(microseconds: group.runs[run].samples.times.last ?? 0)
            let isLive = group.runs[run].batches.last?.isLive == true
            try admitLastBatch(of: run, newest: newest, from: route, at: moment)
            let count = group.runs[run].samples.count - before
            waitingSamples += count
            topics[route].batches += 1
            topics[route].samples += count
            if isLive, !message.isRetained, let device = topics[route].device {
                hear(newest, of: device, &book, at: moment)
            }
        } catch {
            if group.runs[run].batches.isEmpty {
                // It was made for this batch, so it is the last.
                group.runs.removeLast()
                topics[route].group = 0
            }
            noteDropped(error, from: route)
            throw error
        }
    }

    /// The run of a topic in the present group.
    private mutating func openRun(of route: Int) -> Int {
        if topics[route].group == groupNumber { return topics[route].run }
        guard let address = topics[route].address, let stream = topics[route].stream else {
            preconditionFailure("a topic of samples has both")
        }
        // Not of any group before: together the topics would reserve more than ever comes at a time.
        let isSteady = topics[route].group == groupNumber - 1
        topics[route].group = groupNumber
        topics[route].run = group.runs.count
        group.runs.append(
            SampleRun(
                device: address, stream: stream, expectedBatches: isSteady ? topics[route].batches : 0,
                samples: isSteady ? topics[route].samples : 0))
        topics[route].batches = 0
        topics[route].samples = 0
        return group.runs.count - 1
    }

    private mutating func read(
        _ message: IncomingMessage, of route: Int, into run: Int, at moment: Moment
    ) throws(PayloadError) {
        guard message.payload.count <= limits.bytes else {
            throw PayloadError("\(message.payload.count) bytes: a payload has at most \(limits.bytes)")
        }
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

    /// Sees whether the batch that was just read can stay, and takes it out of its run again if not.
    private mutating func admitLastBatch(
        of run: Int, newest: Timestamp, from route: Int, at moment: Moment
    ) throws(PayloadError) {
        let isPossible = newest - moment.wall <= maximumFuture
        if isPossible, admits(route) { return }
        let position = group.runs[run].batches.last?.position
        group.runs[run].removeLast()
        guard !isPossible else { throw tooManyDevices(position: position) }
        throw PayloadError(
            "its time \(newest) is in the future: are the clocks of the device and of this collector right?",
            position: position, isRetryable: true)
    }

    /// Notes that a batch will never come in a form that can be stored, or the agent would send it for ever. What may
    /// pass another time has to stay with the agent: a word of it would make the agent delete it.
    private mutating func noteDropped(_ error: PayloadError, from route: Int) {
        guard let position = error.position, !error.isRetryable, admits(route),
            let address = topics[route].address
        else { return }
        group.dropped.append(
            DroppedBatches(
                device: address, epoch: position.epoch, ranges: SequenceSet([position.seq...position.seq])))
    }

    /// Tells the life cycle of live samples.
    private mutating func hear(
        _ newest: Timestamp, of device: Int, _ book: inout LifecycleBook, at moment: Moment
    ) {
        guard devices[device].steadyIn != groupNumber else {
            // As the life cycle would do now: later it takes a later present for its bound.
            devices[device].newest = max(devices[device].newest, min(newest, moment.wall))
            if !devices[device].isUntold { untold.append(device) }
            devices[device].isUntold = true
            return
        }
        let state = book.handle(
            .liveSamples(newest: newest), of: devices[device].address, at: moment, into: &group)
        guard state == .active || state == .inactive else { return }
        devices[device].steadyIn = groupNumber
        devices[device].newest = min(newest, moment.wall)
    }

    /// Tells the life cycles of the newest live samples that they have not been told of.
    mutating func tellNewest(_ book: inout LifecycleBook, at moment: Moment) {
        for device in untold { tellNewest(of: device, &book, at: moment) }
        untold.removeAll(keepingCapacity: true)
    }

    /// The same of one device, before another word of it.
    mutating func tellNewest(of device: Int, _ book: inout LifecycleBook, at moment: Moment) {
        devices[device].steadyIn = 0
        guard devices[device].isUntold else { return }
        devices[device].isUntold = false
        book.handle(
            .liveSamples(newest: devices[device].newest), of: devices[device].address, at: moment, into: &group)
    }
}
