import LockstepModel

/// The sensors that a session can read with the current access rights, as a value.
struct IIOSessionPlan {
    let device: IIODevice
    /// The requested sensors that can be read.
    let sensors: [IIOSensor]
    /// The requested sensors that cannot be read.
    let unusable: [IIOSensor]

    /// - Throws: ``IIOError`` if none of the requested sensors can be read.
    init(device: IIODevice, requested: Set<SensorStream>) throws(IIOError) {
        self.device = device
        let all = device.sensors.filter { requested.contains($0.quantity.stream) }
        sensors = all.filter { $0.problem == nil }
        unusable = all.filter { $0.problem != nil }
        if sensors.isEmpty, let problem = unusable.first?.problem { throw IIOError(problem) }
    }

    /// The streams of the sensors that can be read.
    var streams: Set<SensorStream> { Set(sensors.map(\.quantity.stream)) }

    /// The buffer to use, its candidate triggers and its sensors; nil if the sensors are polled.
    var buffered: (buffer: IIOBuffer, triggers: [String], sensors: [IIOSensor])? {
        guard case .buffered(let buffer, let triggers)? = sensors.first?.access else { return nil }
        return (buffer, triggers, sensors.filter { $0.access.buffer == buffer })
    }

    /// Whether a sensor cannot be read or cannot use its buffer, which may change while the device is connected.
    var isIncomplete: Bool { !unusable.isEmpty || sensors.contains { $0.access.blockedBuffer != nil } }
}
