import LockstepModel

/// A period in which the sensors of a device run with one configuration.
protocol IIOSession {
    /// Waits until samples are available, `waker` is woken or `limit` has passed, and returns the samples.
    /// - Parameter limit: A time in µs of the boot clock.
    /// - Returns: Samples with times of the boot clock, possibly none.
    /// - Throws: ``IIOError`` if the sensor is gone.
    mutating func next(_ waker: WakePipe, until limit: Int64) throws(IIOError) -> [SampleBlock]

    /// The statuses of the sensors that have delivered a reading.
    var statuses: [SensorStream: SourceStatus] { get }

    /// The sensors that have delivered a reading other than zero. The next session receives them.
    var proven: Set<SensorStream> { get }

    /// Checks that the device still exists.
    /// - Throws: ``IIOError`` if it is gone.
    func checkPresence() throws(IIOError)

    /// Returns the samples that are available without waiting, which ``stop()`` would discard.
    mutating func takeRemainder() -> [SampleBlock]

    /// Disables whatever the session enabled. Must always be called at the end of a session.
    mutating func stop()
}

extension IIOSession {
    mutating func takeRemainder() -> [SampleBlock] { [] }

    var proven: Set<SensorStream> { [] }
}
