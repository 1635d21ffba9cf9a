public import LockstepModel

/// The samples of one stream at the rate that a consumer wants, out of samples that may come faster.
///
/// | stream | what is given |
/// |---|---|
/// | accelerometer, gyroscope, magnetometer | low-passed against aliasing, at the instants k / rate since 1970 |
/// | device motion | the samples nearest to those instants, as they are: fusion has smoothed them, and an attitude or a frame has no mean column by column |
/// | location | the first sample from each of those instants on, and each that begins or ends a time without position |
/// | steps, orientation | every sample: they carry counts, and changes |
///
/// The instants are the same on every device. Devices on one clock that send at the same rate sample the same moments,
/// whatever their hardware does.
///
/// Samples that come at 1.1 times the rate or slower pass unchanged, with their own times. The rate they come at is the
/// mean of the last 32 intervals, and an answer once given changes only below 1.05 and above 1.2 times the rate. Until
/// eight intervals or six periods have been seen, low-passed streams wait with their samples.
///
/// A low-passed value is symmetric about its time, so it lags by nothing; it is given when the samples of three periods
/// after it are there (60 ms at 50 Hz). The low pass is ``ResamplingKernel``: −6 dB at 0.42 of the rate, less than −50 dB
/// beyond 0.7 of it. Samples further apart than three periods or 1 s (and four of their mean intervals) are of two
/// segments. At the edges of a segment, from its first sample to its last, a value rests on at least half of the
/// weights; less gives none. A missing value counts for its column alone, which is missing where half of the weights
/// are. It has as many decimals as the samples have had, at least four; where those have more than nine, it has all.
///
/// What comes out has strictly increasing times: a sample of the same time as the one before is passed over, and when
/// time goes back the resampler begins anew and is silent until it is later than what it gave. How the samples are
/// divided into blocks makes no difference.
public struct Resampler: Sendable {
    public let stream: SensorStream
    /// Samples a second.
    public let rate: Double

    // One of them at most; with none, every sample passes.
    private var averager: Averager?
    private var nearest: NearestPicker?
    private var thinner: Thinner?

    /// - Parameter rate: samples a second, above 0; `.infinity` lets everything pass.
    /// - Precondition: `rate` is above 0.
    public init(stream: SensorStream, rate: Double) {
        precondition(rate > 0, "a rate is above 0")
        self.stream = stream
        self.rate = rate
        guard rate.isFinite else { return }
        switch stream {
        case .steps, .orientation: break
        case .location: thinner = Thinner(rate: rate)
        case .deviceMotion: nearest = NearestPicker(rate: rate)
        // Declared streams: amounts must not be lost, and words and counts have no mean.
        case _ where stream.isDeclared && stream.columns.contains(where: { $0.aggregate == .sum }): break
        case _ where stream.isDeclared && stream.columns.contains(where: { $0.kind != .real }):
            thinner = Thinner(rate: rate)
        default: averager = Averager(rate: rate, columnCount: stream.columns.count)
        }
    }

    /// Takes samples in the order of their time.
    /// - Returns: what is complete by now; may be empty, and may hold samples of earlier blocks.
    /// - Precondition: `block` is of the stream.
    public mutating func update(_ block: SampleBlock) -> SampleBlock {
        precondition(block.stream == stream, "samples of \(block.stream) for a resampler of \(stream)")
        guard averager != nil || nearest != nil || thinner != nil else { return block }
        var output = ColumnBuilder(stream: stream)
        for (index, time) in block.times.enumerated() {
            let row = block.values(at: index)
            averager?.take(time: time, row: row, into: &output)
            nearest?.take(time: time, row: row, into: &output)
            thinner?.take(time: time, row: row, into: &output)
        }
        return output.block
    }

    /// Gives what waits for samples that will not come: at the end, or before a pause. The next sample begins anew.
    public mutating func finish() -> SampleBlock {
        var output = ColumnBuilder(stream: stream)
        averager?.finish(into: &output)
        nearest?.finish(into: &output)
        return output.block
    }
}
