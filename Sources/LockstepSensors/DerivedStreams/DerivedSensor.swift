import LockstepModel

/// A stream that is worked out from others.
protocol DerivedSensor: Sendable {
    var stream: SensorStream { get }

    /// The slowest rates, in samples a second, that it needs of other streams to give `rate` itself.
    ///
    /// Those that it can do without are among them; see ``needs``.
    func inputs(for rate: Double) -> [SensorStream: Double]

    /// Of the inputs those without which there is nothing to work out.
    var needs: Set<SensorStream> { get }

    /// Takes samples of one of its inputs.
    mutating func update(_ samples: SampleBlock) -> SampleBlock

    /// What has not been told yet; begins anew.
    mutating func finish() -> SampleBlock
}
