public import LockstepModel

/// Samples of an accelerometer and, where there are, of a gyroscope and a magnetometer in; device motion out.
///
/// With a gyroscope the attitude is that of ``VQF``; without one that of what is up and where the field points, which is
/// right while the device is held still. Each sensor may come at its own rate, with an interval that varies and with
/// samples missing; blocks may be of up to a second. There is one result for each sample of the accelerometer but those
/// that are zero on all axes, which only a broken one gives. What sensors can't give is nil, and
/// ``DeviceMotion/referenceFrame`` is the frame that they can.
///
/// A second without samples begins the attitude anew, and so its heading in frames that have no north.
public struct DeviceMotionEstimator: Sendable {
    /// What is wanted of attitudes.
    public struct Options: Sendable, Hashable {
        public var referenceFrame: AttitudeReferenceFrame
        /// The angle from true to magnetic north at this place, in rad, east positive; nil if it is not known, and with
        /// it what is true north.
        public var declination: Double?
        /// Whether the device's own magnetic field is found and taken away.
        public var calibratesMagneticField: Bool

        public init(
            referenceFrame: AttitudeReferenceFrame = .magneticNorth, declination: Double? = nil,
            calibratesMagneticField: Bool = true
        ) {
            self.referenceFrame = referenceFrame
            self.declination = declination
            self.calibratesMagneticField = calibratesMagneticField
        }
    }

    /// Samples further apart than this, in µs, are of two stretches.
    static let longestGap: Int64 = 1_000_000

    public let options: Options
    private let sensors: Set<SensorStream>
    private var merger: MotionMerger
    private var start = IntervalMeter()
    private var fusion: MotionFusion?
    /// Of what came before a gap.
    private var before: MotionFusion?
    private var last: Int64?

    /// An estimator that has seen nothing.
    /// - Parameter sensors: those of the three that there are. One that is among them is waited for at the start, for
    ///   two seconds at most.
    public init(options: Options = Options(), sensors: Set<SensorStream> = [.accelerometer, .gyroscope, .magnetometer])
    {
        self.options = options
        self.sensors = sensors
        merger = MotionMerger(sensors: sensors)
    }

    /// Takes samples of one of the three sensors.
    /// - Returns: what is clear by now, in the order of time; may be empty, and may be of earlier samples.
    /// - Precondition: `samples` is of the accelerometer, the gyroscope or the magnetometer.
    public mutating func update(_ samples: SampleBlock) -> [DeviceMotion] {
        merger.append(samples)
        var motions: [DeviceMotion] = []
        while let moment = merger.next() { take(moment, into: &motions) }
        return motions
    }

    /// What is still under way; begins anew, also with earlier times, but for what it knows of the device: the
    /// gyroscope's bias and its own magnetic field.
    public mutating func finish() -> [DeviceMotion] {
        var motions: [DeviceMotion] = []
        while let moment = merger.nextWithoutWaiting() { take(moment, into: &motions) }
        if fusion == nil { begin(into: &motions) }
        let before = fusion
        self = DeviceMotionEstimator(options: options, sensors: sensors)
        self.before = before
        return motions
    }

    private mutating func take(_ moment: MotionMerger.Moment, into motions: inout [DeviceMotion]) {
        if let last, moment.time - last > Self.longestGap {
            if fusion == nil { begin(into: &motions) }
            before = fusion
            fusion = nil
            start = IntervalMeter()
        }
        last = moment.time
        guard fusion == nil else {
            if let motion = fusion?.update(moment) { motions.append(motion) }
            return
        }
        if start.add(moment) { begin(into: &motions) }
    }

    /// Begins with the moments from which the intervals were measured.
    private mutating func begin(into motions: inout [DeviceMotion]) {
        var fusion = MotionFusion(options: options, interval: start.interval, before: before)
        before = nil
        for moment in start.moments {
            if let motion = fusion.update(moment) { motions.append(motion) }
        }
        self.fusion = fusion
        start = IntervalMeter()
    }
}

/// Keeps the first moments until it is clear how far apart a sensor's samples are: filters are made for an interval.
private struct IntervalMeter: Sendable {
    private static let samples = 16
    /// µs after which fewer have to do.
    private static let patience: Int64 = 500_000

    private(set) var moments: [MotionMerger.Moment] = []

    /// - Returns: whether these are enough.
    mutating func add(_ moment: MotionMerger.Moment) -> Bool {
        moments.append(moment)
        return moments.count(where: { $0.gyroscope != nil }) >= Self.samples
            || moment.time - moments[0].time >= Self.patience
    }

    /// The gyroscope's middle interval, in s; without one the accelerometer's; 10 ms of too few samples.
    var interval: Double {
        let gyroscope = moments.filter { $0.gyroscope != nil }.map(\.time)
        let times = gyroscope.count > 1 ? gyroscope : moments.filter { $0.accelerometer != nil }.map(\.time)
        let intervals = zip(times.dropFirst(), times).map { $0 - $1 }.sorted()
        return intervals.isEmpty ? 0.01 : Double(intervals[intervals.count / 2]) / 1e6
    }
}
