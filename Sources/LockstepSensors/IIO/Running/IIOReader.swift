import LockstepModel

/// Reads one channel group of a device on its own thread.
///
/// The reader configures the device when its streams are requested, stops it when they are not, and searches for it
/// again after it has disappeared.
actor IIOReader {
    nonisolated let waker: WakePipe
    private nonisolated let executor: ThreadExecutor
    private let group: IIOChannelGroup
    private let tree: IIOTree
    /// Devices that existed beside this one and are never its replacement.
    private let others: Set<String>
    private let requests: IIORateRequests
    private let sourceName: String
    /// The time for which samples are collected before they are delivered, in µs.
    private let linger: Int64

    private var reported: [SensorStream: SourceStatus] = [:]
    private var backoff = Backoff()
    private var deltas = StepDeltas()
    /// The sensors that have delivered a reading other than zero since the device was found.
    private var proven: Set<SensorStream> = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        group: IIOChannelGroup, tree: IIOTree, others: Set<String>, requests: IIORateRequests, sourceName: String,
        linger: Int64
    ) throws(IIOError) {
        waker = try WakePipe()
        executor = ThreadExecutor(label: "lockstep.\(group.deviceID)")
        self.group = group
        self.tree = tree
        self.others = others
        self.requests = requests
        self.sourceName = sourceName
        self.linger = linger
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
                // A device event, a new request or cancellation ends the wait early.
                _ = waker.wait(until: Moment.now().boot + Int64(backoff.next(using: &generator) * 1e6))
            }
        }
    }

    /// Reads until the requests change or the task is cancelled.
    private func read(_ rates: [SensorStream: Double], into sink: any SampleSink) async throws(IIOError) {
        var session = try open(rates, reportingTo: sink)
        defer {
            session.stop()
            proven.formUnion(session.proven)
            if let steps = session as? StepSession { deltas = steps.deltas }
        }
        let isBuffered = session is BufferSession
        let settings = settings(rates, isBuffered: isBuffered)
        while !Task.isCancelled,
            self.settings(requests.rates(of: group.streams), isBuffered: isBuffered) == settings
        {
            for block in try session.next(waker) {
                backoff.reset()
                await sink.accept(block, clock: .boot)
            }
            for (stream, status) in session.statuses { report(status, of: stream, to: sink) }
        }
        for block in session.takeRemainder() { await sink.accept(block, clock: .boot) }
    }

    /// Returns the rates that a session is configured for. Equivalent requests of a buffered device have equal rates,
    /// because a reconfiguration would interrupt its samples.
    private func settings(_ rates: [SensorStream: Double], isBuffered: Bool) -> [SensorStream: Double] {
        isBuffered ? group.resolved(rates) : rates
    }

    private func open(
        _ rates: [SensorStream: Double], reportingTo sink: any SampleSink
    ) throws(IIOError) -> any IIOSession {
        let device = try group.find(in: tree, except: others)
        if group.kind == .steps { return try StepSession(device: device, deltas: deltas) }
        let sensors = device.sensors.filter { rates[$0.quantity.stream] != nil }
        let usable = sensors.filter { $0.problem == nil }
        for sensor in sensors {
            guard let problem = sensor.problem else { continue }
            if usable.isEmpty { throw IIOError(problem) }
            report(.unavailable("\(group.label): \(problem)"), of: sensor.quantity.stream, to: sink)
        }
        // Decide on the current access: permissions may have changed while the device was disconnected.
        guard let access = usable.first?.access, case .buffered(let buffer, let triggers) = access else {
            return try PolledSession(
                device: device, sensors: usable, rates: rates, linger: linger, proven: proven)
        }
        do throws(IIOError) {
            return try BufferSession(
                device: device, buffer: buffer, sensors: usable.filter { $0.access.buffer == buffer },
                triggers: triggers, tree: tree, rates: group.resolved(rates), linger: linger, proven: proven)
        } catch {
            // If the driver refuses a trigger or setting, the sensor itself still works.
            guard error.isBufferProblem else { throw error }
            return try PolledSession(
                device: device, sensors: device.polling(rates, because: error), rates: rates, linger: linger,
                proven: proven)
        }
    }

    private func report(_ status: SourceStatus, of stream: SensorStream, to sink: any SampleSink) {
        guard reported[stream] != status else { return }
        reported[stream] = status
        sink.report(status, from: "\(sourceName) \(stream)")
    }
}
