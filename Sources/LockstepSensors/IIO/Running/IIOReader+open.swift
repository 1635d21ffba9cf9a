import LockstepModel

/// A session and what it lacks.
struct OpenSession {
    var session: any IIOSession
    /// The device's name for users.
    let label: String
    /// The streams that the session reads.
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
