import LockstepModel
import Synchronization

/// Reads one channel group of a device on its own thread.
///
/// The reader configures the device when its streams are requested, stops it when they are not, and searches for it
/// again after it has disappeared. If access rights are missing, it reads what it can and retries the rest.
actor IIOReader {
    nonisolated let waker: Wakeup
    private nonisolated let executor: ThreadExecutor
    /// The number of device events so far.
    private nonisolated let eventCount = Atomic<Int>(0)
    let group: IIOChannelGroup
    let tree: IIOTree
    /// Devices of the same name that existed beside this one and are never its replacement.
    let others: Set<String>
    private let requests: IIORateRequests
    private let sourceName: String
    let options: IIOReadingOptions

    private var reported: [SensorStream: SourceStatus] = [:]
    private var backoff = Backoff(initial: .seconds(1))
    var deltas = StepDeltas()
    private var delivered = DeliveredTimes()
    /// The sensors that have delivered a reading other than zero since the device was found.
    var proven: Set<SensorStream> = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        group: IIOChannelGroup, tree: IIOTree, others: Set<String>, requests: IIORateRequests, sourceName: String,
        options: IIOReadingOptions
    ) throws(IIOError) {
        waker = try Wakeup.forFiles()
        executor = ThreadExecutor(label: "lockstep.\(group.deviceID)")
        self.group = group
        self.tree = tree
        self.others = others
        self.requests = requests
        self.sourceName = sourceName
        self.options = options
    }

    /// Makes the reader check its device, because the kernel or udev has reported a change.
    nonisolated func noteEvent() {
        // Counted before the wake-up, so that the reader finds the event whichever of its waits the wake-up ends.
        eventCount.add(1, ordering: .releasing)
        waker.signal()
    }

    /// Reads until the task is cancelled and ``waker`` is woken.
    func run(into sink: any SampleSink) async {
        var generator = SystemRandomNumberGenerator()
        while !Task.isCancelled {
            let rates = requests.rates(of: group.streams)
            if rates.isEmpty {
                deltas = StepDeltas()
                _ = waker.wait()
                continue
            }
            do throws(IIOError) {
                try await read(rates, into: sink)
            } catch {
                if Task.isCancelled { return }
                // The device that returns may be another one, or its sensors may have been reset.
                proven = []
                for stream in rates.keys { report(.unavailable("\(group.label): \(error)"), of: stream, to: sink) }
                // A device event, a new request or cancellation ends the wait early. The device may still be starting.
                let delay = Int64(backoff.next(using: &generator) / .microseconds(1))
                if waker.wait(until: Moment.now().boot + delay) == .woken { backoff.reset() }
            }
        }
    }

    /// Reads until the requests change, more sensors become readable, or the task is cancelled.
    private func read(_ rates: [SensorStream: Double], into sink: any SampleSink) async throws(IIOError) {
        // Counted before the device is opened: an event that arrives meanwhile causes a retry.
        let events = eventCount.load(ordering: .acquiring)
        var current = try open(rates, reportingTo: sink)
        defer { end(current.session) }
        var retries = options.retry
        retries.begin(events: events, at: Moment.now().boot)
        var settings = settings(rates, of: current.session)
        while !Task.isCancelled, self.settings(requests.rates(of: group.streams), of: current.session) == settings {
            let limit = current.isIncomplete ? retries.deadline : .max
            try await deliverNext(from: &current.session, until: limit, to: sink)
            let now = Moment.now().boot
            guard current.isIncomplete, retries.isDue(events: eventCount.load(ordering: .acquiring), at: now) else {
                continue
            }
            switch improvement(of: current, rates) {
            case .none(let reason):
                if let reason, var polled = current.session as? PolledSession {
                    polled.continuePolling(because: reason)
                    current.session = polled
                }
            case .sensors:
                for block in current.session.takeRemainder() { await deliver(block, to: sink) }
                return
            case .buffer(let buffered):
                end(current.session)
                current = buffered
                settings = self.settings(rates, of: buffered.session)
                for stream in buffered.streams {
                    // Until its first scan; then it is running. The agent logs both.
                    report(.waiting("\(buffered.label): changed from polling to its buffer"), of: stream, to: sink)
                }
            }
            retries.didFail(at: Moment.now().boot)
        }
        for block in current.session.takeRemainder() { await deliver(block, to: sink) }
    }

    /// Delivers the next samples of a session, or its remaining ones if it fails, and reports its statuses.
    private func deliverNext(
        from session: inout any IIOSession, until limit: Int64, to sink: any SampleSink
    ) async throws(IIOError) {
        do throws(IIOError) {
            for block in try session.next(waker, until: limit) {
                backoff.reset()
                await deliver(block, to: sink)
            }
        } catch {
            for block in session.takeRemainder() { await deliver(block, to: sink) }
            throw error
        }
        for (stream, status) in session.statuses { report(status, of: stream, to: sink) }
    }

    private func end(_ session: any IIOSession) {
        var session = session
        session.stop()
        proven.formUnion(session.proven)
        if let steps = session as? StepSession { deltas = steps.deltas }
    }

    /// Returns the rates that a session is configured for. Equivalent requests of a buffered device have equal rates,
    /// because a reconfiguration would interrupt its samples.
    private func settings(_ rates: [SensorStream: Double], of session: any IIOSession) -> [SensorStream: Double] {
        session is BufferSession ? group.resolved(rates) : rates
    }

    private func deliver(_ block: SampleBlock, to sink: any SampleSink) async {
        if let block = delivered.advance(over: block) { await sink.accept(block, clock: .boot) }
    }

    func report(_ status: SourceStatus, of stream: SensorStream, to sink: any SampleSink) {
        guard reported[stream] != status else { return }
        reported[stream] = status
        sink.report(status, from: "\(sourceName) \(stream)")
    }
}

/// A session and what it lacks.
struct OpenSession {
    var session: any IIOSession
    /// The device's name for users.
    let label: String
    let streams: Set<SensorStream>
    /// The device's folder in sysfs.
    let folder: AttributeFolder
    /// Whether the session could read more sensors, or through a buffer, if access rights change.
    let isIncomplete: Bool

    init(_ session: any IIOSession, of plan: IIOSessionPlan, isIncomplete: Bool? = nil) {
        self.session = session
        label = plan.device.label
        streams = plan.streams
        folder = plan.device.folder
        self.isIncomplete = isIncomplete ?? plan.isIncomplete
    }

    /// Creates the session of a step counter, which lacks nothing.
    init(_ session: StepSession, of device: IIODevice) {
        self.session = session
        label = device.label
        streams = [.steps]
        folder = device.folder
        isIncomplete = false
    }
}

extension IIOReader {
    /// The result of a retry.
    enum Improvement {
        /// The session continues; with the reason why its buffer is not used, if the reason is known.
        case none(String?)
        /// More sensors can be read, so the session must be opened again.
        case sensors
        /// The buffer of a polled session is now open and enabled.
        case buffer(OpenSession)
    }

    /// Opens a session with the current access rights, which may have changed while the device was disconnected.
    func open(_ rates: [SensorStream: Double], reportingTo sink: any SampleSink) throws(IIOError) -> OpenSession {
        if group.kind == .steps {
            let device = try group.find(in: tree, except: others)
            return OpenSession(try StepSession(device: device, deltas: deltas), of: device)
        }
        let plan = try plan(rates)
        for sensor in plan.unusable {
            report(.unavailable("\(group.label): \(sensor.problem ?? "")"), of: sensor.quantity.stream, to: sink)
        }
        do throws(IIOError) {
            if let session = try openBuffer(of: plan, rates) { return OpenSession(session, of: plan) }
        } catch {
            // If the driver refuses a trigger or setting, the sensor itself still works.
            guard error.isBufferProblem else { throw error }
            let sensors = try plan.device.polling(rates, because: error)
            return OpenSession(try poll(sensors, of: plan.device, rates), of: plan, isIncomplete: true)
        }
        return OpenSession(try poll(plan.sensors, of: plan.device, rates), of: plan)
    }

    /// Checks whether more sensors can be read now, and tries to open the buffer of a polled session. The session
    /// remains usable meanwhile, so that a failure costs no samples.
    func improvement(of current: OpenSession, _ rates: [SensorStream: Double]) -> Improvement {
        // If the device is gone, its session reports it.
        guard let next = try? plan(rates), next.device.folder == current.folder else { return .none(nil) }
        if next.streams.isStrictSuperset(of: current.streams) { return .sensors }
        guard current.session is PolledSession else { return .none(nil) }
        // A gyroscope that has moved may read zero in its buffer too.
        proven.formUnion(current.session.proven)
        do throws(IIOError) {
            if let session = try openBuffer(of: next, rates) { return .buffer(OpenSession(session, of: next)) }
            return .none(next.sensors.first?.access.note)
        } catch {
            return .none(error.description)
        }
    }

    private func plan(_ rates: [SensorStream: Double]) throws(IIOError) -> IIOSessionPlan {
        try IIOSessionPlan(device: try group.find(in: tree, except: others), requested: Set(rates.keys))
    }

    private func poll(
        _ sensors: [IIOSensor], of device: IIODevice, _ rates: [SensorStream: Double]
    ) throws(IIOError) -> PolledSession {
        try PolledSession(device: device, sensors: sensors, rates: rates, linger: options.linger, proven: proven)
    }

    /// Opens the buffer of a plan; returns nil if its sensors are polled.
    private func openBuffer(
        of plan: IIOSessionPlan, _ rates: [SensorStream: Double]
    ) throws(IIOError) -> BufferSession? {
        guard let (buffer, triggers, sensors) = plan.buffered else { return nil }
        return try BufferSession(
            device: plan.device, buffer: buffer, sensors: sensors, triggers: triggers, tree: tree,
            rates: group.resolved(rates), linger: options.linger, proven: proven)
    }
}

/// How the readers of a source collect samples and retry.
struct IIOReadingOptions {
    /// The time for which samples are collected before they are delivered, in µs.
    let linger: Int64
    /// The delays of retries, before the first failure.
    let retry: BufferRetry
}
