public import LockstepModel

/// Estimates device motion from samples of an accelerometer and, if present, of a gyroscope and a magnetometer.
///
/// With a gyroscope the attitude is estimated by ``VQF``. Without one it is estimated from the directions of gravity
/// and of the magnetic field, which is accurate while the device is held still. Each sensor may have its own rate, with
/// varying intervals and missing samples. Blocks may span up to a second. There is one result per accelerometer sample,
/// except for samples that are zero on all axes, which come only from a broken sensor. Values that the sensors cannot
/// provide are nil, and ``DeviceMotion/referenceFrame`` is the best frame that they allow.
///
/// A gap of more than a second without samples restarts the attitude, and with it the heading in frames without north.
public struct DeviceMotionEstimator: Sendable {
    /// The requested properties of device motion.
    public struct Options: Sendable, Hashable {
        /// The requested frame of attitudes.
        public var referenceFrame: AttitudeReferenceFrame
        /// The angle from true to magnetic north at this place in rad, east positive. If nil, the declination
        /// of the World Magnetic Model at the newest location is used, and is unknown before the first location.
        public var declination: Double?
        /// Whether the device's own influence on the magnetic field is estimated and removed.
        public var calibratesMagneticField: Bool

        /// Creates options.
        public init(
            referenceFrame: AttitudeReferenceFrame = .magneticNorth, declination: Double? = nil,
            calibratesMagneticField: Bool = true
        ) {
            self.referenceFrame = referenceFrame
            self.declination = declination
            self.calibratesMagneticField = calibratesMagneticField
        }
    }

    /// The longest interval between samples that does not restart the attitude, in µs.
    static let maxGap: Int64 = 1_000_000

    /// The options of this estimator.
    public let options: Options
    private let sensors: Set<SensorStream>
    private var merger: MotionMerger
    private var intervalEstimator = IntervalEstimator()
    private var fusion: MotionFusion?
    /// The fusion before a gap, from which the calibration and the gyroscope's bias are kept.
    private var before: MotionFusion?
    private var last: Int64?
    private var declination: DeclinationSource

    /// Creates an estimator in its initial state.
    ///
    /// - Parameters:
    ///   - options: the requested properties of device motion.
    ///   - sensors: the sensors that are present. At the start the estimator waits for each of them, for at most two
    ///     seconds.
    public init(options: Options = Options(), sensors: Set<SensorStream> = [.accelerometer, .gyroscope, .magnetometer])
    {
        self.options = options
        self.sensors = sensors
        declination = DeclinationSource(given: options.declination)
        merger = MotionMerger(sensors: sensors)
    }

    /// The calibration of the magnetometer with its quality; nil before the first reading, or if the options disable
    /// the calibration.
    public var magneticCalibration: MagneticCalibration? {
        options.calibratesMagneticField ? (fusion ?? before)?.calibration : nil
    }

    /// Whether samples of the `location` stream are needed: for the declination of the frame `trueNorth`.
    public var needsLocation: Bool { options.referenceFrame == .trueNorth && declination.needsLocation }

    /// The origin of the declination, or the reason why there is none; nil unless the frame is `trueNorth`.
    public var declinationStatus: DeclinationSource.Status? {
        options.referenceFrame == .trueNorth ? declination.status : nil
    }

    /// Processes samples of one of the three sensors, or of the `location` stream.
    ///
    /// - Returns: the results that are now complete, in order of time; possibly none, or results for earlier samples.
    /// - Precondition: `samples` belongs to the accelerometer, the gyroscope, the magnetometer or the location.
    public mutating func update(_ samples: SampleBlock) -> [DeviceMotion] {
        guard samples.stream != .location else {
            declination.update(samples)
            fusion?.declination = declination.declination
            return []
        }
        merger.append(samples)
        var motions: [DeviceMotion] = []
        while let sample = merger.next() { process(sample, into: &motions) }
        return motions
    }

    /// Returns the pending results and restarts. Later samples may have earlier times. The gyroscope's bias, the
    /// magnetic calibration and the declination are kept.
    public mutating func finish() -> [DeviceMotion] {
        var motions: [DeviceMotion] = []
        while let sample = merger.nextWithoutWaiting() { process(sample, into: &motions) }
        if fusion == nil { startFusion(into: &motions) }
        let (before, declination) = (fusion, declination)
        self = DeviceMotionEstimator(options: options, sensors: sensors)
        self.before = before
        self.declination = declination
        return motions
    }

    private mutating func process(_ sample: MotionMerger.MergedSample, into motions: inout [DeviceMotion]) {
        if let last, sample.time - last > Self.maxGap {
            if fusion == nil { startFusion(into: &motions) }
            before = fusion
            fusion = nil
            intervalEstimator = IntervalEstimator()
        }
        last = sample.time
        guard fusion == nil else {
            if let motion = fusion?.update(sample) { motions.append(motion) }
            return
        }
        if intervalEstimator.add(sample) { startFusion(into: &motions) }
    }

    /// Starts fusion, and processes the merged samples from which the interval was estimated.
    private mutating func startFusion(into motions: inout [DeviceMotion]) {
        var fusion = MotionFusion(options: options, interval: intervalEstimator.interval, before: before)
        fusion.declination = declination.declination
        before = nil
        for sample in intervalEstimator.samples {
            if let motion = fusion.update(sample) { motions.append(motion) }
        }
        self.fusion = fusion
        intervalEstimator = IntervalEstimator()
    }
}

/// Collects the first merged samples until the sample interval, for which the filters are designed, can be estimated.
private struct IntervalEstimator: Sendable {
    /// The number of gyroscope samples that suffices for an estimate.
    private static let sampleCount = 16
    /// The time after which fewer samples suffice, in µs.
    private static let maxDuration: Int64 = 500_000

    private(set) var samples: [MotionMerger.MergedSample] = []

    /// - Returns: whether there are enough samples.
    mutating func add(_ sample: MotionMerger.MergedSample) -> Bool {
        samples.append(sample)
        return samples.count(where: { $0.gyroscope != nil }) >= Self.sampleCount
            || sample.time - samples[0].time >= Self.maxDuration
    }

    /// The median interval of the gyroscope in s, or of the accelerometer if there is no gyroscope; 0.01 if there are
    /// too few samples.
    var interval: Double {
        let gyroscope = samples.filter { $0.gyroscope != nil }.map(\.time)
        let times = gyroscope.count > 1 ? gyroscope : samples.filter { $0.accelerometer != nil }.map(\.time)
        let intervals = zip(times.dropFirst(), times).map { $0 - $1 }.sorted()
        return intervals.isEmpty ? 0.01 : Double(intervals[intervals.count / 2]) / 1e6
    }
}
