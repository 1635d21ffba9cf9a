import LockstepModel

/// A sensor whose stream is computed from other streams.
protocol DerivedSensor: Sendable {
    /// The stream that is computed.
    var stream: SensorStream { get }

    /// Returns the minimum rates, in samples/s, of the input streams for an output rate of `rate`.
    ///
    /// Optional inputs are included; see ``requiredInputs``. One with the rate 0 is used only if it is measured anyway.
    func inputs(for rate: Double) -> [SensorStream: Double]

    /// The inputs that are required; other inputs are optional.
    var requiredInputs: Set<SensorStream> { get }

    /// Processes samples of one input and returns the output samples that are now complete.
    mutating func update(_ samples: SampleBlock) -> SampleBlock

    /// Returns the pending samples and resets the computation.
    mutating func finish() -> SampleBlock

    /// The status of the sensor, if it has more to report than its samples.
    var status: SourceStatus? { get }
}

extension DerivedSensor {
    mutating func finish() -> SampleBlock { SampleBlock(stream: stream) }

    var status: SourceStatus? { nil }
}
