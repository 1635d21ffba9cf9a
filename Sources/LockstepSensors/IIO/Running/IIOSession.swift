import LockstepModel

/// A running sensor: from its configuration until it is stopped.
protocol IIOSession {
    /// Waits until samples are available or `waker` is woken, and returns the samples.
    /// - Returns: Samples with times of the boot clock; empty after a wake-up, or if no reading is a measurement.
    /// - Throws: ``IIOError`` if the sensor is gone.
    mutating func next(_ waker: WakePipe) throws(IIOError) -> [SampleBlock]

    /// The statuses of the sensors that have delivered a reading.
    var statuses: [SensorStream: SourceStatus] { get }

    /// The sensors that have delivered a reading other than zero; passed on to the next session.
    var proven: Set<SensorStream> { get }

    /// Checks that the device still exists.
    /// - Throws: ``IIOError`` if it is gone.
    func checkPresence() throws(IIOError)

    /// Returns the samples that are available without waiting, which ``stop()`` would discard.
    mutating func takeRest() -> [SampleBlock]

    /// Switches off what the session switched on. Must be called on every path.
    mutating func stop()
}

extension IIOSession {
    mutating func takeRest() -> [SampleBlock] { [] }

    var proven: Set<SensorStream> { [] }
}
