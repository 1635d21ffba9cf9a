import Glibc
public import LockstepModel

/// Tells how a device is held, from its accelerometer, and keeps to it until another orientation is clear.
///
/// Gravity is the accelerometer behind a low pass of 0.5 Hz; samples whose length is further than 0.3 g from 1 g are
/// passed over, for their direction is not that of gravity. A device lies flat from 30° off flat, and no longer beyond
/// 40°. Otherwise it is the edge within 35° of what is down in the plane of the screen; between two edges, and near
/// flat, it stays what it was, so that an edge is left at 55°. A new orientation counts when it has been so for 0.25 s.
/// A sample that is not later than the one before is passed over.
public struct OrientationDetector: Sendable {
    /// When an orientation begins and ends.
    public struct Thresholds: Sendable, Hashable {
        /// rad from flat within which the device comes to lie flat, and beyond which it no longer does.
        public var flatEnter = 30.0 * .pi / 180
        public var flatLeave = 40.0 * .pi / 180
        /// rad in the plane of the screen within which an edge comes to be down. Less than π/4.
        public var edgeEnter = 35.0 * .pi / 180
        /// How long, in µs, a new orientation has to last to count.
        public var dwell: Int64 = 250_000
        /// Hz, of the low pass that leaves gravity.
        public var cutOff = 0.5
        /// g that a sample's length may be off 1 g.
        public var tolerance = 0.3

        public init() {}
    }

    public let thresholds: Thresholds
    /// How the device is held; nil until that is clear for the first time.
    public private(set) var orientation: DeviceOrientation?
    /// Gravity in the device's axes, in g, as the low pass has it; nil before the first sample that counts.
    public private(set) var gravity: SIMD3<Double>?

    private var filter: LowPassFilter
    private var last: Int64?
    private var candidate: (orientation: DeviceOrientation, since: Int64)?

    /// A detector that has seen nothing.
    public init(thresholds: Thresholds = Thresholds()) {
        self.thresholds = thresholds
        filter = LowPassFilter(cutOff: thresholds.cutOff)
    }

    /// Takes one accelerometer sample.
    /// - Parameters:
    ///   - time: µs of any clock that does not run backward.
    ///   - x: g along the x axis, as Lockstep has them: (0, 0, -1) at rest, face up; `y` and `z` likewise.
    /// - Returns: the new orientation where this sample makes it clear, the first one too; else nil.
    public mutating func update(time: Int64, x: Double, y: Double, z: Double) -> DeviceOrientation? {
        if let last, time <= last { return nil }
        last = time
        let sample = SIMD3(x, y, z)
        guard abs(length(sample) - 1) <= thresholds.tolerance else { return nil }
        let gravity = filter.update(sample, time: time)
        self.gravity = gravity
        guard let new = clear(gravity), new != orientation else {
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

    /// Takes samples of the `accelerometer` stream.
    /// - Returns: a row of the `orientation` stream for each change, timed as the sample that made it clear.
    /// - Precondition: `accelerometer` is of the accelerometer stream.
    public mutating func update(_ accelerometer: SampleBlock) -> SampleBlock {
        precondition(accelerometer.stream == .accelerometer, "orientation is told from the accelerometer")
        var rows = SampleBlock(stream: .orientation)
        let columns = accelerometer.columns
        for (index, time) in accelerometer.times.enumerated() {
            let change = update(time: time, x: columns[0][index], y: columns[1][index], z: columns[2][index])
            if let change { rows.append(time: Timestamp(microseconds: time), values: [change.streamValue]) }
        }
        return rows
    }

    /// The orientation that gravity makes clear; nil between two.
    private func clear(_ gravity: SIMD3<Double>) -> DeviceOrientation? {
        let inPlane = hypot(gravity.x, gravity.y)
        let offFlat = atan2(inPlane, abs(gravity.z))
        let face: DeviceOrientation = gravity.z < 0 ? .faceUp : .faceDown
        if offFlat <= (orientation == face ? thresholds.flatLeave : thresholds.flatEnter) { return face }
        let edges = [DeviceOrientation.portrait, .portraitUpsideDown, .landscapeLeft, .landscapeRight]
        let least = inPlane * cos(thresholds.edgeEnter)
        return edges.first { dot($0.gravity, gravity) >= least }
    }
}
