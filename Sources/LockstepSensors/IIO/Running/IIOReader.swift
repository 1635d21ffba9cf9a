import LockstepModel

/// Runs one part of a device on a thread of its own: sets it up when someone wants its samples, stops it when nobody does,
/// and looks for it again when it has gone.
actor IIOReader {
    nonisolated let waker: WakePipe
    private nonisolated let executor: ThreadExecutor
    private let part: IIOChannelGroup
    private let tree: IIOTree
    /// Devices that were there beside this one: none of them is this one come back.
    private let others: Set<String>
    private let rates: IIORateRequests
    private let sourceName: String
    /// How long samples gather before they are handed over, in µs.
    private let linger: Int64

    private var reported: [SensorStream: SourceStatus] = [:]
    private var backoff = Backoff()
    private var deltas = StepDeltas()
    /// Sensors that have said anything but zero since the device was found.
    private var proven: Set<SensorStream> = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        part: IIOChannelGroup, tree: IIOTree, others: Set<String>, rates: IIORateRequests, sourceName: String,
        linger: Int64
    ) throws(IIOError) {
        waker = try WakePipe()
        executor = ThreadExecutor(label: "lockstep.\(part.deviceID)")
        self.part = part
        self.tree = tree
        self.others = others
        self.rates = rates
        self.sourceName = sourceName
        self.linger = linger
    }

    /// Reads until the task is cancelled and ``waker`` is woken.
    func run(into sink: any SampleSink) async {
        var generator = SystemRandomNumberGenerator()
        while !Task.isCancelled {
            let wanted = rates.wanted(of: part.streams)
            if wanted.isEmpty {
                deltas = StepDeltas()
                _ = waker.wait()
                continue
            }
            do throws(IIOError) {
                try await read(wanted, into: sink)
            } catch {
                if Task.isCancelled { return }
                // What comes back may be another, or have lost its power.
                proven = []
                for stream in wanted.keys { report(.unavailable("\(part.label): \(error)"), of: stream, to: sink) }
                // Only a cancelled task wakes early, and the loop sees that.
                try? await Task.sleep(for: .seconds(backoff.next(using: &generator)))
            }
        }
    }

    /// Until what is wanted changes, or the task is cancelled.
    private func read(_ wanted: [SensorStream: Double], into sink: any SampleSink) async throws(IIOError) {
        var session = try open(wanted, reportingTo: sink)
        defer {
            session.stop()
            proven.formUnion(session.proven)
            if let steps = session as? StepSession { deltas = steps.deltas }
        }
        let isBuffered = session is BufferSession
        let settings = settings(wanted, isBuffered: isBuffered)
        while !Task.isCancelled,
            self.settings(rates.wanted(of: part.streams), isBuffered: isBuffered) == settings
        {
            for block in try session.next(waker) {
                backoff.reset()
                await sink.accept(block, clock: .boot)
            }
            for (stream, status) in session.statuses { report(status, of: stream, to: sink) }
        }
        for block in session.takeRest() { await sink.accept(block, clock: .boot) }
    }

    /// What a session is set up for: a buffer loses time when it is set up anew, so not where it comes to the same.
    private func settings(_ wanted: [SensorStream: Double], isBuffered: Bool) -> [SensorStream: Double] {
        isBuffered ? part.resolved(wanted) : wanted
    }

    private func open(
        _ wanted: [SensorStream: Double], reportingTo sink: any SampleSink
    ) throws(IIOError) -> any IIOSession {
        let device = try part.find(in: tree, except: others)
        if part.kind == .steps { return try StepSession(device: device, deltas: deltas) }
        let sensors = device.sensors.filter { wanted[$0.quantity.stream] != nil }
        let usable = sensors.filter { $0.problem == nil }
        for sensor in sensors {
            guard let problem = sensor.problem else { continue }
            if usable.isEmpty { throw IIOError(problem) }
            report(.unavailable("\(part.label): \(problem)"), of: sensor.quantity.stream, to: sink)
        }
        // As it is now: a device that was connected again may have got its rights, or lost them.
        guard let access = usable.first?.access, case .buffered(let triggers) = access else {
            return try PolledSession(
                device: device, sensors: usable, rates: wanted, linger: linger, proven: proven)
        }
        do throws(IIOError) {
            return try BufferSession(
                device: device, sensors: usable.filter(\.access.isBuffered), triggers: triggers, tree: tree,
                rates: part.resolved(wanted), linger: linger, proven: proven)
        } catch {
            // A trigger or a setting that the driver refuses leaves the sensor itself as it is.
            guard error.isAboutBuffer else { throw error }
            return try PolledSession(
                device: device, sensors: device.polling(wanted, because: error), rates: wanted,
                linger: linger, proven: proven)
        }
    }

    private func report(_ status: SourceStatus, of stream: SensorStream, to sink: any SampleSink) {
        guard reported[stream] != status else { return }
        reported[stream] = status
        sink.report(status, from: "\(sourceName) \(stream)")
    }
}
