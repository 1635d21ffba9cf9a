import Glibc
public import LockstepModel

/// Detects the orientation of a device from its accelerometer, with hysteresis.
///
/// Gravity is the accelerometer low-pass filtered at 0.5 Hz. Samples whose length differs from 1 g by more than 0.3 g
/// are ignored, because their direction is not that of gravity. A device counts as flat once it is within 30° of flat,
/// and until it is more than 40° off. Otherwise the orientation is that of the edge within 35° of down in the plane of
/// the screen. Between two edges, and near flat, the orientation does not change, so it leaves an edge at 55°. A new
/// orientation must last 0.25 s. Samples that are not later than the previous one are ignored.
public struct OrientationDetector: Sendable {
    /// The limits at which an orientation starts and ends.
    public struct Thresholds: Sendable, Hashable {
        /// The angle from flat within which a device starts to count as flat, in rad.
        public var flatEnter = 30.0 * .pi / 180
        /// The angle from flat beyond which a flat device no longer counts as flat, in rad.
        public var flatLeave = 40.0 * .pi / 180
        /// The angle from down, in the plane of the screen, within which an edge becomes the lower one, in rad. Less
        /// than π/4.
        public var edgeEnter = 35.0 * .pi / 180
        /// The time that a new orientation must last, in µs.
        public var dwell: Int64 = 250_000
        /// The cut-off frequency of the low-pass filter for gravity, in Hz.
        public var cutOff = 0.5
        /// The largest difference of a sample's length from 1 g, in g.
        public var tolerance = 0.3

        /// Creates the default limits.
        public init() {}
    }

    /// The limits at which an orientation starts and ends.
    public let thresholds: Thresholds
    /// The current orientation; nil until it has been determined for the first time.
    public private(set) var orientation: DeviceOrientation?
    /// The low-pass filtered gravity in the device's axes in g; nil before the first valid sample.
    public private(set) var gravity: SIMD3<Double>?

    private var filter: LowPassFilter
    private var last: Int64?
    private var candidate: (orientation: DeviceOrientation, since: Int64)?

    /// Creates a detector in its initial state.
    public init(thresholds: Thresholds = Thresholds()) {
        self.thresholds = thresholds
        filter = LowPassFilter(cutOff: thresholds.cutOff)
    }

    /// Processes an accelerometer sample.
    ///
    /// - Parameters:
    ///   - time: the time of the sample in µs, of any monotonic clock.
    ///   - x: the acceleration along the x axis in g, (0, 0, −1) at rest face up; `y` and `z` likewise.
    /// - Returns: the new orientation if this sample completes a change (or the first determination); nil otherwise.
    public mutating func update(time: Int64, x: Double, y: Double, z: Double) -> DeviceOrientation? {
        if let last, time <= last { return nil }
        last = time
        let sample = SIMD3(x, y, z)
        guard abs(length(sample) - 1) <= thresholds.tolerance else { return nil }
        let gravity = filter.update(sample, time: time)
        self.gravity = gravity
        guard let new = unambiguousOrientation(gravity), new != orientation else {
            candidate = nil
            return nil
        }
        guard let candidate, candidate.orientation == new else {
            self.candidate = (new, time)
            return nil
        }
        guard time - candidate.since >= thresholds.dwell else { return nil }
        self.candidate = nil
        orientation = new
        return new
    }

    /// Processes samples of the `accelerometer` stream.
    ///
    /// - Returns: a row of the `orientation` stream per change, with the time of the sample that completed it.
    /// - Precondition: `accelerometer` belongs to the accelerometer stream.
    public mutating func update(_ accelerometer: SampleBlock) -> SampleBlock {
        precondition(accelerometer.stream == .accelerometer, "orientation is detected from accelerometer samples")
        var rows = SampleBlock(stream: .orientation)
        let columns = accelerometer.columns
        for (index, time) in accelerometer.times.enumerated() {
            let change = update(time: time, x: columns[0][index], y: columns[1][index], z: columns[2][index])
            if let change { rows.append(time: Timestamp(microseconds: time), values: [change.streamValue]) }
        }
        return rows
    }

    /// Returns the orientation for a direction of gravity, or nil between two orientations.
    private func unambiguousOrientation(_ gravity: SIMD3<Double>) -> DeviceOrientation? {
        let inPlane = hypot(gravity.x, gravity.y)
        let offFlat = atan2(inPlane, abs(gravity.z))
        let face: DeviceOrientation = gravity.z < 0 ? .faceUp : .faceDown
        if offFlat <= (orientation == face ? thresholds.flatLeave : thresholds.flatEnter) { return face }
        let edges = [DeviceOrientation.portrait, .portraitUpsideDown, .landscapeLeft, .landscapeRight]
        let minProjection = inPlane * cos(thresholds.edgeEnter)
        return edges.first { dot($0.gravity, gravity) >= minProjection }
    }
}
