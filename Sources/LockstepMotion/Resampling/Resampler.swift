public import LockstepModel

/// Reduces the samples of one stream to the rate that a consumer wants.
///
/// | stream | output |
/// |---|---|
/// | accelerometer, gyroscope, magnetometer | low-pass filtered against aliasing, at the instants k / rate since 1970 |
/// | device motion | the samples nearest to those instants, unchanged: attitudes cannot be averaged by column |
/// | location | the first sample at or after each instant, and each sample that gains or loses the position |
/// | steps, orientation | every sample, because they carry counts and changes |
///
/// Device motion needs no filter, because fusion has already smoothed it.
///
/// The instants are the same on every device. Devices with synchronised clocks and the same rate therefore report
/// samples for the same times, independent of their hardware.
///
/// Samples that arrive at up to 1.1 times the wanted rate pass unchanged, with their own times. The actual rate is the
/// mean of the last 32 intervals. After the first decision it must fall below 1.05 or rise above 1.2 times the wanted
/// rate to change the decision. The first decision needs eight intervals or six periods; until then the samples of
/// low-pass filtered streams are held back.
///
/// A low-passed value is symmetric about its time and therefore has no delay. It is emitted when the samples of the
/// three following periods have arrived (60 ms at 50 Hz). The filter is `ResamplingKernel`: −6 dB at 0.42 of the rate,
/// less than −50 dB above 0.7 of it. A gap separates two segments if it is longer than three periods or 1 s, whichever
/// is less, and longer than four mean intervals. Near the ends of a segment a value needs at least half of the kernel's
/// weight. A missing value affects only its own column. An output value is missing if half of its weight is missing.
/// Values are rounded to the number of decimals seen in the samples, at least four; with more than nine they are not
/// rounded.
///
/// Output times strictly increase. A sample with the time of the previous one is ignored. If time goes backward, the
/// resampler restarts and emits nothing until time is later than its last output. The division of the samples into
/// blocks has no effect.
public struct Resampler: Sendable {
    /// The stream whose samples are resampled.
    public let stream: SensorStream
    /// The requested rate, in Hz.
    public let rate: Double

    // At most one of these is set. If none is, every sample passes.
    private var decimator: LowPassDecimator?
    private var nearestSelector: NearestSampleSelector?
    private var firstSelector: FirstSampleSelector?

    /// Creates a resampler.
    ///
    /// - Parameters:
    ///   - stream: the stream whose samples are resampled.
    ///   - rate: the requested rate in Hz, above 0; `.infinity` passes every sample.
    /// - Precondition: `rate` is above 0.
    public init(stream: SensorStream, rate: Double) {
        precondition(rate > 0, "the rate must be above 0")
        self.stream = stream
        self.rate = rate
        guard rate.isFinite else { return }
        switch stream.resampling {
        case .everySample: break
        case .firstOfInterval: firstSelector = FirstSampleSelector(rate: rate)
        case .nearest: nearestSelector = NearestSampleSelector(rate: rate)
        case .lowPass: decimator = LowPassDecimator(rate: rate, columnCount: stream.columns.count)
        }
    }

    /// Processes samples in order of time.
    ///
    /// - Returns: the samples that are complete; may be empty and may include samples of earlier blocks.
    /// - Precondition: `block` belongs to the stream.
    public mutating func update(_ block: SampleBlock) -> SampleBlock {
        precondition(block.stream == stream, "samples of \(block.stream) for a resampler of \(stream)")
        guard decimator != nil || nearestSelector != nil || firstSelector != nil else { return block }
        var output = SampleBlockBuilder(stream: stream)
        for (index, time) in block.times.enumerated() {
            let row = block.values(at: index)
            decimator?.add(time: time, row: row, into: &output)
            nearestSelector?.add(time: time, row: row, into: &output)
            firstSelector?.add(time: time, row: row, into: &output)
        }
        return output.block
    }

    /// Emits the pending samples without waiting for later ones, at the end or before a pause. The next sample starts a
    /// new segment.
    public mutating func finish() -> SampleBlock {
        var output = SampleBlockBuilder(stream: stream)
        decimator?.finish(into: &output)
        nearestSelector?.finish(into: &output)
        return output.block
    }
}
